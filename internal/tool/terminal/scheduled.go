package terminal

import (
	"context"
	"strings"
	"time"

	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// parseSendTime reads when to send a message: after a time such as 2h, or today or tomorrow at 15:04.
func parseSendTime(text string, now time.Time) (time.Time, error) {
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return now.Add(d), nil
	}
	clock, err := time.Parse("15:04", text)
	if err != nil {
		return time.Time{}, errorf("give a time such as 2h or 15:04")
	}
	at := time.Date(now.Year(), now.Month(), now.Day(), clock.Hour(), clock.Minute(), 0, 0, now.Location())
	if !at.After(now) {
		at = at.AddDate(0, 0, 1)
	}
	return at, nil
}

// laterContents are the commands whose messages can be sent later.
var laterContents = map[string]composeContent{
	"/file": (*screen).fileContent, "/album": (*screen).albumContent, "/voice": (*screen).voiceContent, "/location": (*screen).locationContent,
}

// laterContent is a text, or what a command behind a time would send. As elsewhere, a text that begins with / is written with //.
func (s *screen) laterContent(ctx context.Context, text string) (*chatv1.Content, error) {
	text = strings.TrimSpace(text)
	word, rest, _ := strings.Cut(text, " ")
	switch compose := laterContents[word]; {
	case compose != nil:
		return compose(s, ctx, strings.TrimSpace(rest))
	case strings.HasPrefix(text, "//"):
		return textContent(text[1:]), nil
	case strings.HasPrefix(text, "/"):
		return nil, errorf("what can be sent later is a text, or /file, /album, /voice or /location")
	}
	return textContent(text), nil
}

// later schedules a message in the open chat.
func (s *screen) later(ctx context.Context, rest string) error {
	c, err := s.current()
	if err != nil {
		return err
	}
	when, text, _ := strings.Cut(rest, " ")
	at, err := parseSendTime(when, time.Now())
	if err != nil {
		return err
	}
	content, err := s.laterContent(ctx, text)
	if err != nil {
		return err
	}
	m, err := s.client.Schedule(ctx, c.Id, "", content, at) // a new id for each command: only the user repeats it
	if err != nil {
		return err
	}
	s.say("It is sent on %s.", sendTime(m))
	return nil
}

func sendTime(m *chatv1.ScheduledMessage) string {
	return dated(time.UnixMilli(m.SendMs), "2 January, 15:04")
}

// scheduled returns all scheduled messages of the open chat.
func (s *screen) scheduled(ctx context.Context) (list []*chatv1.ScheduledMessage, err error) {
	c, err := s.current()
	if err != nil {
		return nil, err
	}
	err = s.client.Scheduled(ctx, c.Id, func(m *chatv1.ScheduledMessage) bool {
		list = append(list, m)
		return true
	})
	return list, err
}

func (s *screen) listScheduled(ctx context.Context, _ string) error {
	list, err := s.scheduled(ctx)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		s.say("Nothing is scheduled here.")
	}
	s.numberScheduled(list)
	for i, m := range list {
		failed := ""
		if m.Failed != "" {
			failed = phrasef("  (not sent: %s)", oneLine(plain(m.Failed)))
		}
		s.say("%3d  %s  %s%s", i+1, sendTime(m), oneLine(plain(what(&chatv1.Message{Content: m.Content}))), failed)
	}
	return nil
}

// numberScheduled gives the scheduled messages of the open chat their numbers.
func (s *screen) numberScheduled(list []*chatv1.ScheduledMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scheduledIDs, s.scheduledIn = nil, s.open.GetId()
	for _, m := range list {
		s.scheduledIDs = append(s.scheduledIDs, m.Id)
	}
}

// scheduledAt returns the message with a number of the last /scheduled in this chat, or of a list of now if there was none.
func (s *screen) scheduledAt(ctx context.Context, number string) (*chatv1.ScheduledMessage, error) {
	list, err := s.scheduled(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	isListed := len(s.scheduledIDs) > 0 && s.scheduledIn == s.open.GetId()
	s.mu.Unlock()
	if !isListed {
		s.numberScheduled(list)
	}
	wanted, err := s.inLastList(number, &s.scheduledIDs, errorf("no scheduled message has this number; /scheduled lists them"))
	if err != nil {
		return nil, err
	}
	for _, m := range list {
		if m.Id == wanted {
			return m, nil
		}
	}
	return nil, errorf("that message has been sent or cancelled meanwhile; /scheduled lists the others")
}

// reschedule changes when a message is sent, and its text or file if one is given.
func (s *screen) reschedule(ctx context.Context, rest string) error {
	number, rest, _ := strings.Cut(rest, " ")
	m, err := s.scheduledAt(ctx, number)
	if err != nil {
		return err
	}
	when, text, _ := strings.Cut(strings.TrimSpace(rest), " ")
	at, err := parseSendTime(when, time.Now())
	if err != nil {
		return err
	}
	var content *chatv1.Content
	if text = strings.TrimSpace(text); text != "" {
		if content, err = s.laterContent(ctx, text); err != nil {
			return err
		}
		content.ReplyTo = m.Content.GetReplyTo()
	}
	if m, err = s.client.Reschedule(ctx, m.Id, at, content); err != nil {
		return err
	}
	s.say("It is sent on %s.", sendTime(m))
	return nil
}

// cancelScheduled cancels the message with a number of /scheduled.
func (s *screen) cancelScheduled(ctx context.Context, rest string) error {
	m, err := s.scheduledAt(ctx, rest)
	if err != nil {
		return err
	}
	return s.done(s.client.CancelScheduled(ctx, m.Id))
}
