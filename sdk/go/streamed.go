package rialto

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"connectrpc.com/connect"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

const (
	// writeEvery is the time between two calls that send parts. A call has those of all messages that this client writes.
	writeEvery = 250 * time.Millisecond
	// stillEvery is after how long the server is told that a message goes on, to which nothing was added.
	stillEvery = 15 * time.Second
	// maxWrittenParts is the server's limit for one call.
	maxWrittenParts = 100
	// maxPart bounds the text of a part.
	maxPart = 64 << 10
)

// ErrBrokenOff: a streamed message has ended, and its text is not whole. Streamed.BrokenOff says why.
var ErrBrokenOff = errors.New("rialto: the message was broken off")

// StreamedOptions of a message that is written in parts. The zero value is a message that all members may stop.
type StreamedOptions struct {
	// ReplyTo is the seq of the message that this one answers; 0: none.
	ReplyTo uint64
	// WhoMayStop the message, beside its sender.
	WhoMayStop chatv1.WhoMayStop
}

// Streamed is a message that this client writes in parts, while others read it. Its end must come with End or Fail; if neither does, the server
// breaks the message off after a minute.
type Streamed struct {
	client       *Client
	conversation uint64
	seq          uint64
	ended        chan struct{} // closed when the server takes no more parts

	mu        sync.Mutex // guards all below
	text      strings.Builder
	length    int // of text, in characters
	sent      int // the bytes of text that the server has
	sentChars int
	state     chatv1.WritingState
	note      string
	changed   bool // state or note, since the last part
	sentAt    time.Time
	over      bool // ended is closed
	finishing bool // End or Fail was called
}

// StartStreamed stores a message whose text follows in parts, in a conversation of this user. It tries again until ctx ends, or the server refuses.
func (c *Client) StartStreamed(ctx context.Context, conversation uint64, options StreamedOptions) (*Streamed, error) {
	q := &chatv1.StartStreamedMessageRequest{Conversation: conversation, ClientMsgId: rand.Text(), WhoMayStop: options.WhoMayStop}
	if options.ReplyTo != 0 {
		q.ReplyTo = &chatv1.Ref{Seq: options.ReplyTo}
	}
	var a *connect.Response[chatv1.StartStreamedMessageResponse]
	err := again(ctx, func() (err error) {
		a, err = c.chat.StartStreamedMessage(ctx, connect.NewRequest(q))
		return err
	})
	if err != nil {
		return nil, err
	}
	m := &Streamed{client: c, conversation: conversation, seq: a.Msg.Seq, ended: make(chan struct{}), sentAt: time.Now()}
	c.written.add(c, m)
	return m, nil
}

// Seq of the message in its conversation.
func (m *Streamed) Seq() uint64 { return m.seq }

// Ended is closed when the message has ended: because a reader stopped it, or the server broke it off, or after End or Fail. Stop the work for it
// then.
func (m *Streamed) Ended() <-chan struct{} { return m.ended }

// WriteString adds to the text, at most 100,000 characters in all. It does not wait: the readers see it within moments. It fails with ErrBrokenOff
// once the message has ended. Invalid UTF-8 becomes U+FFFD, so give whole characters.
func (m *Streamed) WriteString(text string) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.over || m.finishing {
		return 0, ErrBrokenOff
	}
	valid := strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\x00", "\ufffd")
	m.text.WriteString(valid)
	m.length += utf8.RuneCountInString(valid)
	if m.state != 0 || m.note != "" {
		m.state, m.note, m.changed = 0, "", true
	}
	return len(text), nil
}

// SetState tells the readers what this client does, until it writes again: thinking, or waiting for a tool, whose name is the note.
func (m *Streamed) SetState(state chatv1.WritingState, note string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.changed = m.changed || state != m.state || note != m.note
	m.state, m.note = state, note
}

// End stores the whole text. It tries again until ctx ends, or the server refuses. If the message was broken off before, the error is ErrBrokenOff.
func (m *Streamed) End(ctx context.Context) error {
	m.mu.Lock()
	m.finishing = true
	text := m.text.String()
	m.mu.Unlock()
	return m.finish(ctx, &chatv1.EndStreamedMessageRequest{Conversation: m.conversation, Seq: m.seq, Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: text}}})
}

// Fail marks the message as broken off, because this client cannot go on. What the server has of the text stays.
func (m *Streamed) Fail(ctx context.Context) error {
	m.mu.Lock()
	m.finishing = true
	m.mu.Unlock()
	err := m.finish(ctx, &chatv1.EndStreamedMessageRequest{Conversation: m.conversation, Seq: m.seq, Failed: true})
	if errors.Is(err, ErrBrokenOff) {
		return nil
	}
	return err
}

func (m *Streamed) finish(ctx context.Context, q *chatv1.EndStreamedMessageRequest) error {
	var a *connect.Response[chatv1.EndStreamedMessageResponse]
	err := again(ctx, func() (err error) {
		a, err = m.client.chat.EndStreamedMessage(ctx, connect.NewRequest(q))
		return err
	})
	m.setEnded()
	if err == nil && a.Msg.BrokenOff != nil {
		return ErrBrokenOff
	}
	return err
}

func (m *Streamed) setEnded() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.over {
		m.over = true
		close(m.ended)
	}
}

// part returns what has to be sent; nil if nothing has to.
func (m *Streamed) part(now time.Time) *chatv1.StreamedPart {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.over || m.finishing || m.sent == m.text.Len() && !m.changed && now.Sub(m.sentAt) < stillEvery {
		return nil
	}
	text := m.text.String()[m.sent:]
	if len(text) > maxPart {
		end := maxPart
		for !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end]
	}
	m.sentAt, m.changed = now, false
	return &chatv1.StreamedPart{Conversation: m.conversation, Seq: m.seq, Offset: uint32(m.sentChars), Text: text, State: m.state, Note: m.note}
}

// taken notes what the server says of a part: how much of the text it has, or that the message has ended.
func (m *Streamed) taken(r *chatv1.WriteResult) {
	if r.Ended || r.Reason == "not_sender" || r.Reason == "no_message" || r.Reason == "no_conversation" {
		m.setEnded()
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	length := int(r.Length)
	if r.Reason != "" && r.Reason != "bad_offset" { // it is tried again
		m.changed = true
		return
	}
	if r.Reason == "bad_offset" && length >= m.sentChars { // the server has another text: it is replaced by the end
		length = m.sentChars
	}
	if length < m.sentChars {
		m.sentChars, m.sent = 0, 0
	}
	for text := m.text.String(); m.sentChars < length && m.sent < len(text); m.sentChars++ {
		_, n := utf8.DecodeRuneInString(text[m.sent:])
		m.sent += n
	}
}

// writtenMessages are those that a client writes in parts.
type writtenMessages struct {
	mu      sync.Mutex // guards all below
	list    []*Streamed
	writing bool
}

// add adds a message. While there are any, one goroutine sends their parts; it ends with the last message.
func (w *writtenMessages) add(c *Client, m *Streamed) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, m)
	if !w.writing {
		w.writing = true
		go w.write(c)
	}
}

// stopped ends a message of which the server said that it has ended.
func (w *writtenMessages) stopped(conversation, seq uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.list {
		if m.conversation == conversation && m.seq == seq {
			m.setEnded()
		}
	}
}

// open returns the messages that have not ended; without any, write ends.
func (w *writtenMessages) open() (list []*Streamed) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.list {
		select {
		case <-m.ended:
		default:
			list = append(list, m)
		}
	}
	w.list = list
	w.writing = len(list) > 0
	return append([]*Streamed(nil), list...)
}

func (w *writtenMessages) write(c *Client) {
	for list := w.open(); len(list) > 0; list = w.open() {
		for len(list) > 0 {
			n := min(len(list), maxWrittenParts)
			c.sendParts(list[:n])
			list = list[n:]
		}
		<-time.After(writeEvery)
	}
}

// sendParts sends what was added to some messages. What the server did not get is sent again.
func (c *Client) sendParts(list []*Streamed) {
	q := &chatv1.WriteStreamedMessagesRequest{}
	var of []*Streamed
	size := 0
	for _, m := range list {
		if size > 8*maxPart { // the rest waits for the next call
			break
		}
		if p := m.part(time.Now()); p != nil {
			q.Parts, of = append(q.Parts, p), append(of, m)
			size += len(p.Text)
		}
	}
	if len(of) == 0 {
		return
	}
	a, err := c.chat.WriteStreamedMessages(context.Background(), connect.NewRequest(q))
	if err != nil {
		c.config.Logger.Info("parts of streamed messages are sent again", "error", err)
		for _, m := range of {
			m.taken(&chatv1.WriteResult{Reason: "unavailable"})
		}
		return
	}
	for i, r := range a.Msg.Results {
		if i < len(of) {
			of[i].taken(r)
		}
	}
}

// StopStreamed breaks off a message that another user writes, where this user may do so. It succeeds if the message has ended already.
func (c *Client) StopStreamed(ctx context.Context, conversation, seq uint64) error {
	_, err := c.chat.StopStreamedMessage(ctx, connect.NewRequest(&chatv1.StopStreamedMessageRequest{Conversation: conversation, Seq: seq}))
	return err
}

// StreamedText returns the text so far of a message that its sender is still writing.
func (c *Client) StreamedText(ctx context.Context, conversation, seq uint64) (*chatv1.StreamedText, error) {
	a, err := c.chat.GetStreamedMessage(ctx, connect.NewRequest(&chatv1.GetStreamedMessageRequest{Conversation: conversation, Seq: seq}))
	if err != nil {
		return nil, err
	}
	return a.Msg, nil
}

// AddStreamed returns a text with what an event added to it (Event.Streamed). It is not ok if something is missing between them: ask for the whole text
// with Client.StreamedText then.
func AddStreamed(text string, added *chatv1.StreamedText) (after string, ok bool) {
	at := 0
	for range added.Offset {
		if at == len(text) {
			return text, false
		}
		_, n := utf8.DecodeRuneInString(text[at:])
		at += n
	}
	return text[:at] + added.Text, true
}

// again makes a call until it succeeds, the server refuses, or ctx ends. Calls about streamed messages may be repeated.
func again(ctx context.Context, call func() error) error {
	for wait := writeEvery; ; wait = min(2*wait, maxRetryWait) {
		err := call()
		if err == nil || ctx.Err() != nil || !isTemporary(err) {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return err
		}
	}
}

// isTemporary reports whether a call may succeed later.
func isTemporary(err error) bool {
	switch connect.CodeOf(err) {
	case connect.CodeUnavailable, connect.CodeUnknown, connect.CodeDeadlineExceeded, connect.CodeInternal, connect.CodeResourceExhausted:
		return true
	}
	return false
}
