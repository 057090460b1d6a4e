package terminal

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/base/excerpt"
	rialto "github.com/rialto-im/rialto/sdk/go"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

const (
	maxKept  = 2000 // messages of the open chat; beyond it all are forgotten, and read again when they are needed
	quoteLen = 40   // characters
	nameLen  = 40   // characters of the name of a recording or a picture
)

// isMessage reports whether an entry is neither a control entry nor an update.
func isMessage(m *chatv1.Message) bool {
	return m.Content.GetControl() == nil && rialto.Shown(m)
}

// remember keeps messages of the open chat, for quotes and updates. They are not changed, but replaced. The caller holds turn.
func (s *screen) remember(messages ...*chatv1.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.messages)+len(messages) > maxKept {
		clear(s.messages)
	}
	for _, m := range messages {
		if isMessage(m) && s.open != nil && s.open.Id == m.Conversation {
			s.messages[m.Seq] = m
		}
	}
}

// known returns a message of a chat if it is remembered, else nil.
func (s *screen) known(conversation, seq uint64) *chatv1.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil || s.open.Id != conversation {
		return nil
	}
	return s.messages[seq]
}

// message returns a message of a chat as it is now. The caller holds turn, or an answer could replace what a later update has made.
func (s *screen) message(ctx context.Context, conversation, seq uint64) (*chatv1.Message, error) {
	if m := s.known(conversation, seq); m != nil {
		return m, nil
	}
	r, err := call(ctx, s.client.Chat().GetMessages, &chatv1.GetMessagesRequest{Conversation: conversation, Seqs: []uint64{seq}})
	if err != nil {
		return nil, err
	}
	if len(r.Messages) == 0 || !isMessage(r.Messages[0]) {
		return nil, errorf("there is no such message, or you may not read it")
	}
	s.remember(r.Messages...)
	return r.Messages[0], nil
}

// readQuoted reads the messages to which others reply, as far as they are not known.
func (s *screen) readQuoted(ctx context.Context, conversation uint64, replies []*chatv1.Message) error {
	var seqs []uint64
	for _, m := range replies {
		if seq := m.Content.GetReplyTo().GetSeq(); seq != 0 && s.known(conversation, seq) == nil {
			seqs = append(seqs, seq)
		}
	}
	slices.Sort(seqs)
	for some := range slices.Chunk(slices.Compact(seqs), maxPerCall) {
		r, err := call(ctx, s.client.Chat().GetMessages, &chatv1.GetMessagesRequest{Conversation: conversation, Seqs: some})
		if err != nil {
			return err
		}
		s.remember(r.Messages...)
	}
	return nil
}

// line formats a message without colours: it may be cut.
func (s *screen) line(ctx context.Context, m *chatv1.Message) string {
	at, who, quote, what := s.parts(ctx, m)
	if who == "" {
		return at + what
	}
	if m.Content.GetText() != "" {
		what = withoutMarks(what)
	}
	return at + who + quote + ": " + indented(what)
}

// paintedLine is line with colours, and with a number after the time.
func (s *screen) paintedLine(ctx context.Context, m *chatv1.Message, number string) string {
	at, who, quote, what := s.parts(ctx, m)
	if who == "" {
		return s.paint(faint, at+number+what)
	}
	if m.Content.GetText() != "" {
		what = s.markdown(what)
	}
	return s.paint(faint, at+number) + s.paint(s.senderStyle(m.Sender), who) + s.paint(faint, quote) + ": " + indented(what)
}

// parts of a line: when, who (empty for a control entry and a recalled message), to what it replies, and what. A colon stands between those two, so that no text can look like one.
func (s *screen) parts(ctx context.Context, m *chatv1.Message) (at, who, quote, text string) {
	at = time.UnixMilli(m.TimeMs).Format("15:04") + "  "
	if m.RecallSeq != 0 {
		return at, "", "", "* " + s.recalled(ctx, m)
	}
	if k := m.Content.GetControl(); k != nil {
		return at, "", "", "* " + s.control(ctx, k)
	}
	return at, s.name(ctx, m.Sender), s.quote(ctx, m), plain(what(m))
}

// recalled describes a recalled message.
func (s *screen) recalled(ctx context.Context, m *chatv1.Message) string {
	if m.RecalledBy != m.Sender {
		return phrasef("%s recalled a message by %s", s.name(ctx, m.RecalledBy), s.name(ctx, m.Sender))
	}
	return phrasef("%s recalled a message", s.name(ctx, m.Sender))
}

// quote names the message to which another replies; empty for others, and for replies in chats that are not open.
func (s *screen) quote(ctx context.Context, m *chatv1.Message) string {
	seq := m.Content.GetReplyTo().GetSeq()
	s.mu.Lock()
	here, target := s.open != nil && s.open.Id == m.Conversation, s.messages[seq]
	s.mu.Unlock()
	switch {
	case seq == 0 || !here:
		return ""
	case target == nil: // it has expired
		return phrasef(" (to #%d)", seq)
	case target.RecallSeq != 0:
		return phrase(" (to a recalled message)")
	}
	return phrasef(" (to %s: %s)", s.name(ctx, target.Sender), summary(target))
}

// summary returns the beginning of a message, in one line.
func summary(m *chatv1.Message) string {
	text := plain(what(m))
	if m.Content.GetText() != "" {
		text = withoutMarks(text)
	}
	return excerpt.Marked(oneLine(text), quoteLen)
}

// what a message says, as its sender wrote it.
func what(m *chatv1.Message) string {
	save := phrasef("; /save %d", m.Seq)
	if m.Seq == 0 { // it is not sent yet
		save = ""
	}
	switch k := m.Content.GetKind().(type) {
	case *chatv1.Content_Text:
		return k.Text
	case *chatv1.Content_Location:
		return strings.TrimSpace(phrasef("[location geo:%.5f,%.5f] %s", k.Location.Latitude, k.Location.Longitude, words(k.Location.Label, k.Location.Address)))
	case *chatv1.Content_Card:
		return words(phrase("[card]"), k.Card.Title, k.Card.Text, k.Card.Url)
	case *chatv1.Content_Custom:
		if k.Custom.Fallback != "" {
			return k.Custom.Fallback
		}
	case *chatv1.Content_Voice:
		return words(fmt.Sprintf("[%s%s]", words(phrase("voice"), length(k.Voice), waveform(k.Voice.Waveform)), save), k.Voice.Caption)
	case *chatv1.Content_Video:
		return words(phrasef("[video %s%s]", recordingName(k.Video), save), k.Video.Caption)
	case *chatv1.Content_Streamed:
		return phrase("[is being written; /stop]")
	case *chatv1.Content_Forward:
		return forwardText(m, k.Forward)
	case *chatv1.Content_Album:
		return words(phrasef("[album of %d: %s%s]", len(k.Album.Items), strings.Join(itemNames(k.Album), ", "), save), k.Album.Caption)
	}
	if files := filesOf(m.Content); len(files) > 0 {
		f := files[0]
		kind := phrase("file")
		if m.Content.GetImage() != nil {
			kind = phrase("image")
		}
		return strings.TrimSpace(fmt.Sprintf("[%s %s, %s%s] %s", kind, f.Name, size(f.Size), save, f.Caption))
	}
	return phrase("[a message that this client cannot show]")
}

// forwardText shows the messages of a forward, one in a line.
func forwardText(m *chatv1.Message, f *chatv1.Forward) string {
	lines := []string{phrase("[forwarded]")}
	if f.Title != "" {
		lines[0] = phrasef("[%d forwarded: %s]", len(f.Items), f.Title)
	}
	for _, item := range f.Items {
		text := phrase("(not available)")
		if item.Content != nil {
			text = what(&chatv1.Message{Conversation: m.Conversation, Seq: m.Seq, Content: item.Content})
		}
		lines = append(lines, text)
	}
	if len(lines) == 2 {
		return strings.Join(lines, " ")
	}
	return strings.Join(lines, "\n")
}

// words joins those that are not empty.
func words(list ...string) string {
	return strings.Join(slices.DeleteFunc(list, func(s string) bool { return s == "" }), " ")
}

// itemNames of an album, with the sizes of files and the lengths of videos.
func itemNames(a *chatv1.Album) []string {
	names := make([]string, len(a.Items))
	for i, item := range a.Items {
		switch {
		case item.GetImage() != nil:
			names[i] = itemName(item.GetImage())
		case item.GetVideo() != nil:
			names[i] = itemName(item.GetVideo())
		default:
			names[i] = phrase("(cannot be shown)")
		}
	}
	return names
}

// itemName is the name of an album's file with what is known of it.
func itemName(m *chatv1.Media) string {
	name, about := excerpt.Marked(m.Name, nameLen), length(m)
	if m.Size > 0 && about != "" {
		about += ", "
	}
	if m.Size > 0 {
		about += size(m.Size)
	}
	if about == "" {
		return name
	}
	return name + " (" + about + ")"
}

// waveformBars is how wide a waveform is.
const waveformBars = 16

// waveform draws the loudness of a recording, each bar as high as the loudest of its samples. It is empty without samples.
func waveform(samples []byte) string {
	bars := min(len(samples), waveformBars)
	levels := []rune("▁▂▃▄▅▆▇█")
	drawn := make([]rune, bars)
	for i := range drawn {
		loudest := slices.Max(samples[i*len(samples)/bars : (i+1)*len(samples)/bars])
		drawn[i] = levels[int(loudest)*(len(levels)-1)/255]
	}
	return string(drawn)
}

// recordingName is the name of a recording with its length, if that is known.
func recordingName(m *chatv1.Media) string {
	name, long := excerpt.Marked(m.Name, nameLen), length(m)
	if long == "" {
		return name
	}
	return name + " (" + long + ")"
}

// length of a recording; empty if it is not known.
func length(m *chatv1.Media) string {
	if m.DurationMs == 0 {
		return ""
	}
	return (time.Duration(m.DurationMs) * time.Millisecond).Round(time.Second).String()
}

// updateMarks says after a message what updates made of it.
func updateMarks(m *chatv1.Message) string {
	if m.RecallSeq != 0 {
		return ""
	}
	marks := ""
	marks += brokenOffMark(m)
	if m.EditedMs != 0 {
		marks += phrase("  (edited)")
	}
	if m.Pinned {
		marks += phrase("  (pinned)")
	}
	if r := reactionCounts(m); r != "" {
		marks += "  (" + r + ")"
	}
	return marks
}

// reactionCounts lists the emoji of a message with their numbers of users.
func reactionCounts(m *chatv1.Message) string {
	counts := make([]string, len(m.Reactions.GetCounts()))
	for i, n := range m.Reactions.GetCounts() {
		counts[i] = fmt.Sprintf("%s %d", oneLine(plain(n.Emoji)), n.Count)
	}
	return strings.Join(counts, ", ")
}
