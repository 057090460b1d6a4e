package terminal

import (
	"context"
	"strings"
	"time"
	"unicode"

	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	presencev1 "github.com/rialto-im/rialto/sdk/go/gen/presence/v1"
)

var statusWords = map[presencev1.Status]string{
	presencev1.Status_STATUS_ONLINE: "online", presencev1.Status_STATUS_AWAY: "away", presencev1.Status_STATUS_DO_NOT_DISTURB: "do not disturb",
}

func statusWord(p *presencev1.Presence) string {
	if word := statusWords[p.Status]; word != "" {
		return phrase(word)
	}
	return phrase("offline")
}

func isOnline(p *presencev1.Presence) bool { return statusWords[p.Status] != "" }

// customOf is a custom status in words, while it lasts.
func customOf(c *presencev1.CustomStatus) string {
	if c.GetUntilMs() != 0 && c.GetUntilMs() <= time.Now().UnixMilli() {
		return ""
	}
	return strings.TrimSpace(oneLine(plain(c.GetEmoji() + " " + c.GetText())))
}

// presenceWord is a user's presence in a few words.
func presenceWord(p *presencev1.Presence) string {
	if custom := customOf(p.Custom); custom != "" {
		return statusWord(p) + ", " + custom
	}
	return statusWord(p)
}

// presenceOf a user in words; empty where the user does not let this one see it.
func presenceOf(p *presencev1.Presence) string {
	if isOnline(p) || p.LastActiveMs == 0 && p.Custom != nil {
		return presenceWord(p)
	}
	if p.LastActiveMs == 0 {
		return ""
	}
	text := phrasef("offline since %s", dated(time.UnixMilli(p.LastActiveMs), "2 January, 15:04"))
	if custom := customOf(p.Custom); custom != "" {
		text += ", " + custom
	}
	return text
}

// notePresence stores the presence of a user in words. For users whose presence is not visible the server returns offline without a time;
// then the presence is unknown. The caller holds mu.
func (s *screen) notePresence(p *presencev1.Presence) {
	if _, known := s.present[p.User]; known || isOnline(p) || p.LastActiveMs > 0 || p.Custom != nil {
		s.present[p.User] = presenceWord(p)
	}
}

// showPresence prints a presence change of the open chat's peer.
func (s *screen) showPresence(ctx context.Context, p *presencev1.Presence) {
	s.mu.Lock()
	was, known := s.present[p.User]
	s.notePresence(p)
	here := s.open != nil && s.open.Peer == p.User && known && was != s.present[p.User]
	s.mu.Unlock()
	if here {
		s.say("* %s is %s", s.name(ctx, p.User), presenceWord(p))
	}
}

var availabilities = map[string]presencev1.Availability{
	"auto": presencev1.Availability_AVAILABILITY_UNSPECIFIED, "dnd": presencev1.Availability_AVAILABILITY_DO_NOT_DISTURB,
	"invisible": presencev1.Availability_AVAILABILITY_INVISIBLE,
}

var audiences = map[string]accountv1.WhoMaySee{
	"everyone": accountv1.WhoMaySee_WHO_MAY_SEE_EVERYONE, "friends": accountv1.WhoMaySee_WHO_MAY_SEE_FRIENDS, "nobody": accountv1.WhoMaySee_WHO_MAY_SEE_NOBODY,
}

// changeSettings reads the settings, changes them, and stores them. It keeps what this client does not know.
func (s *screen) changeSettings(ctx context.Context, change func(*accountv1.Settings)) error {
	set, err := call(ctx, s.client.Account().GetSettings, &accountv1.GetSettingsRequest{})
	if err != nil {
		return err
	}
	change(set)
	_, err = call(ctx, s.client.Account().UpdateSettings, &accountv1.UpdateSettingsRequest{Settings: set})
	return s.done(err)
}

func (s *screen) availability(ctx context.Context, word string) error {
	chosen, known := availabilities[word]
	if !known {
		return errorf("say /presence auto, dnd or invisible")
	}
	return s.changeSettings(ctx, func(set *accountv1.Settings) { set.Availability = chosen })
}

func (s *screen) visible(ctx context.Context, word string) error {
	who, known := audiences[word]
	if !known {
		return errorf("say /visible everyone, friends or nobody")
	}
	return s.changeSettings(ctx, func(set *accountv1.Settings) { set.WhoMaySeePresence = who })
}

// customStatus sets or clears the custom status. A last word such as 2h says how long it lasts.
func (s *screen) customStatus(ctx context.Context, text string) error {
	custom := &presencev1.CustomStatus{Text: strings.TrimSpace(text)}
	if i := strings.LastIndexByte(custom.Text, ' '); i > 0 {
		if d, err := time.ParseDuration(custom.Text[i+1:]); err == nil && d > 0 {
			custom.Text, custom.UntilMs = strings.TrimSpace(custom.Text[:i]), time.Now().Add(d).UnixMilli()
		}
	}
	first, rest, _ := strings.Cut(custom.Text, " ")
	if first != "" && !strings.ContainsFunc(first, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r < 128 }) {
		custom.Emoji, custom.Text = first, strings.TrimSpace(rest)
	}
	if custom.Emoji+custom.Text == "" {
		custom = nil
	}
	return s.changeSettings(ctx, func(set *accountv1.Settings) { set.CustomStatus = custom })
}

// describePresence says in words what the settings let others see.
func describePresence(set *accountv1.Settings) string {
	who := "friends"
	for word, value := range audiences {
		if value == set.WhoMaySeePresence {
			who = word
		}
	}
	line := phrasef("%s may see when you are online", phrase(who))
	switch set.Availability {
	case presencev1.Availability_AVAILABILITY_DO_NOT_DISTURB:
		line += phrase("; do not disturb")
	case presencev1.Availability_AVAILABILITY_INVISIBLE:
		line += phrase("; you are invisible now")
	}
	if custom := customOf(set.CustomStatus); custom != "" {
		line += phrasef("; your status is %s", custom)
		if until := set.CustomStatus.UntilMs; until != 0 {
			line += phrasef(", until %s", dated(time.UnixMilli(until), "2 January, 15:04"))
		}
	}
	return line
}
