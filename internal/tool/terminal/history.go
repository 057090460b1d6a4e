package terminal

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	rialto "github.com/rialto-im/rialto/sdk/go"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// maxPages bounds the calls for one /history or /more: updates, which are not shown, may fill a page.
const maxPages = 10

// count parses a number of messages.
func count(text string) (uint32, error) {
	if text == "" {
		return 20, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > pageSize {
		return 0, errorf("give a number of messages, 1 to %d", pageSize)
	}
	return uint32(n), nil
}

// history shows the last messages of the open chat, or those from a day on.
func (s *screen) history(ctx context.Context, rest string) error {
	if day, err := time.ParseInLocation(time.DateOnly, rest, time.Local); err == nil {
		return s.historyFrom(ctx, day)
	}
	n, err := count(rest)
	if err != nil {
		return err
	}
	s.turn.Lock()
	defer s.turn.Unlock()
	return s.page(ctx, n, 0)
}

// historyFrom shows the first messages from a time on. It does not mark them as read: others before them may be new.
func (s *screen) historyFrom(ctx context.Context, from time.Time) error {
	c, err := s.current()
	if err != nil {
		return err
	}
	n, err := count("")
	if err != nil {
		return err
	}
	s.turn.Lock()
	defer s.turn.Unlock()
	r, err := call(ctx, s.client.Chat().History, &chatv1.HistoryRequest{Conversation: c.Id, TimeMs: max(1, from.UnixMilli()), Limit: n})
	if err != nil {
		return err
	}
	if len(r.Messages) == 0 {
		s.say("There are no messages from that day or later.")
		return nil
	}
	if err := s.putPage(ctx, c.Id, r.Messages); err != nil {
		return err
	}
	if r.More {
		s.say("    the newest ones: /history")
	}
	return nil
}

func (s *screen) more(ctx context.Context, rest string) error {
	n, err := count(rest)
	if err != nil {
		return err
	}
	s.turn.Lock()
	defer s.turn.Unlock()
	s.mu.Lock()
	oldest := s.oldest
	s.mu.Unlock()
	return s.page(ctx, n, oldest)
}

// readPage reads n messages and control entries before a seq, 0 for the newest, and what is not shown among them. It returns fewer at the
// beginning of the chat, or if nothing before is shown.
func (s *screen) readPage(ctx context.Context, conversation uint64, n uint32, before uint64) (page []*chatv1.Message, more bool, err error) {
	limit := n
	for range maxPages {
		r, err := call(ctx, s.client.Chat().History, &chatv1.HistoryRequest{Conversation: conversation, Before: before, Limit: limit})
		if err != nil {
			return nil, false, err
		}
		page, more = append(r.Messages, page...), r.More
		shown := uint32(0)
		for i, m := range slices.Backward(page) {
			if !rialto.Shown(m) {
				continue
			}
			if shown++; shown == n {
				return page[i:], more || i > 0, nil
			}
		}
		if !more || len(r.Messages) == 0 {
			break
		}
		before, limit = page[0].Seq, pageSize
	}
	return page, more, nil
}

// page shows n messages before a seq; 0 means the newest. The caller holds turn.
func (s *screen) page(ctx context.Context, n uint32, before uint64) error {
	c, err := s.current()
	if err != nil {
		return err
	}
	messages, more, err := s.readPage(ctx, c.Id, n, before)
	if err != nil {
		return err
	}
	if len(messages) == 0 {
		if before > 0 {
			s.say("There is nothing older.")
		}
		return nil
	}
	last := messages[len(messages)-1].Seq
	if err := s.putPage(ctx, c.Id, messages); err != nil {
		return err
	}
	if more && before == 0 {
		s.say("    older ones: /more")
	}
	s.client.Mark(c.Id, last, last)
	return nil
}

// putPage prints messages of the open chat. The caller holds turn.
func (s *screen) putPage(ctx context.Context, conversation uint64, messages []*chatv1.Message) error {
	s.mu.Lock()
	s.day = ""
	s.oldest, s.shown = messages[0].Seq, max(s.shown, messages[len(messages)-1].Seq)
	s.mu.Unlock()
	s.remember(messages...)
	if err := s.readQuoted(ctx, conversation, messages); err != nil {
		return err
	}
	for _, m := range messages {
		s.put(ctx, m)
	}
	return nil
}

// put prints a message of the open chat, and the date if it differs from the previous one. It prints nothing in the place of an update.
func (s *screen) put(ctx context.Context, m *chatv1.Message) {
	if !rialto.Shown(m) || m.Content.GetControl() != nil && s.control(ctx, m.Content.GetControl()) == "" {
		return
	}
	day := dated(time.UnixMilli(m.TimeMs), "Monday, 2 January 2006")
	s.mu.Lock()
	another := day != s.day
	s.day = day
	mark := updateMarks(m) + s.mentionMark(m)
	if s.open != nil && s.open.Peer != 0 && m.Sender == s.client.User() && isMessage(m) {
		s.mine = max(s.mine, m.Seq)
		if m.Seq <= s.read {
			mark += phrase("  (read)")
		} else if m.Seq <= s.delivered {
			mark += phrase("  (delivered)")
		}
	}
	s.mu.Unlock()
	if another {
		s.say("%s", s.paint(faint, "      "+day))
	}
	number := ""
	if isMessage(m) {
		number = fmt.Sprintf("#%d  ", m.Seq)
	}
	s.say("%s%s%s", s.paintedLine(ctx, m, number), s.paint(faint, mark), s.preview(m))
}

// putNew prints a message that is not part of a page.
func (s *screen) putNew(ctx context.Context, m *chatv1.Message) {
	s.remember(m)
	if err := s.readQuoted(ctx, m.Conversation, []*chatv1.Message{m}); err != nil {
		s.say("! %s", explain(err))
	}
	s.put(ctx, m)
}
