package streamedmessage

import (
	"bytes"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// markInterval bounds how far index has to read.
const markInterval = 1024

// held is a message whose text this node has.
type held struct {
	key
	sender id.User
	share  *share

	mu       sync.Mutex // guards all below
	text     []byte
	length   int   // of text, in characters
	marks    []int // where each markInterval-th character begins, or the text ends
	allowed  int   // the bytes of text that were there when the sender was last found to be allowed to write
	pushed   place // up to which text was pushed
	stored   int   // the bytes of text that the row has
	state    chatv1.WritingState
	note     string
	weight   int64     // see push.go
	lastPart time.Time // or when this node became the holder
	lastPush time.Time
	renewed  time.Time     // when the row was written
	renewIn  time.Duration // from then to the next time
	gone     bool          // it has ended, or another node holds it; nothing is added or pushed any more
}

// place in a text.
type place struct{ bytes, characters int }

// addBytes counts bytes of a text. It reports whether the node and the user may have so many.
func (s *Service) addBytes(h *held, n int) (ok bool) {
	all, own := s.bytes.Add(int64(n)), h.share.bytes.Add(int64(n))
	return all <= maxHeldBytes && own <= maxUserBytes
}

// find returns a message that this node holds, or nil.
func (s *Service) find(k key) *held {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held[k]
}

// reserve counts a message of a user, or refuses it. The caller calls unreserve unless it holds the message.
func (s *Service) reserve(u id.User, c id.Conversation) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.byUser[u]
	if of == nil {
		of = &share{}
	}
	if s.stopping || of.messages >= s.config.MaxPerUser || s.byConversation[c] >= maxPerConversation || len(s.held) >= maxHeld || s.bytes.Load() >= maxHeldBytes {
		return errTooMany
	}
	of.messages++
	s.byUser[u] = of
	s.byConversation[c]++
	return nil
}

func (s *Service) unreserve(u id.User, c id.Conversation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.uncount(u, c)
}

// uncount is unreserve for those who hold mu.
func (s *Service) uncount(u id.User, c id.Conversation) {
	if of := s.byUser[u]; of.messages > 1 {
		of.messages--
	} else {
		delete(s.byUser, u)
	}
	if s.byConversation[c]--; s.byConversation[c] == 0 {
		delete(s.byConversation, c)
	}
}

// hold adds a message whose row this node has claimed, and for which it has reserved. If it has one already, it returns that.
func (s *Service) hold(r *row) *held {
	now := s.now()
	length := utf8.RuneCountInString(r.text)
	h := &held{key: r.key, sender: r.sender, allowed: len(r.text), stored: len(r.text), lastPart: now, renewed: now, renewIn: firstRenewal}
	h.append(r.text, length)
	s.mu.Lock()
	defer s.mu.Unlock()
	if before := s.held[r.key]; before != nil {
		s.uncount(r.sender, r.conversation)
		return before
	}
	s.held[r.key] = h
	h.share = s.byUser[r.sender]
	s.addBytes(h, len(h.text))
	return h
}

// drop makes a message take no more parts, and gives its text free.
func (s *Service) drop(h *held) {
	s.mu.Lock()
	if s.held[h.key] == h {
		delete(s.held, h.key)
		delete(s.changed, h.key)
		s.uncount(h.sender, h.conversation)
	}
	s.mu.Unlock()
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.gone {
		h.gone = true
		s.addBytes(h, -len(h.text))
		s.weight.Add(-min(h.weight, maxWeight))
	}
}

// setChanged has a message pushed at its next time.
func (s *Service) setChanged(h *held) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[h.key] == h {
		s.changed[h.key] = h
	}
}

// write adds a part. It reports whether readers have to be told.
func (s *Service) write(h *held, p *chatv1.StreamedPart) (changed bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.gone {
		return false, errEnded
	}
	added, err := h.added(p)
	if err != nil {
		return false, err
	}
	characters := utf8.RuneCountInString(added)
	if h.length+characters > message.MaxText {
		return false, errs.New(errs.Invalid, "text_too_long", "a text has at most 100,000 characters: end this message, and go on in another one")
	}
	if added != "" && !s.addBytes(h, len(added)) {
		s.addBytes(h, -len(added))
		return false, errTooMany
	}
	changed = added != "" || p.State != h.state || p.Note != h.note
	h.append(added, characters)
	h.state, h.note, h.lastPart = p.State, p.Note, s.now()
	return changed, nil
}

// added returns what a part adds to the text, which may have a part of it already. The caller holds mu.
func (h *held) added(p *chatv1.StreamedPart) (string, error) {
	if int(p.Offset) == h.length {
		return p.Text, nil
	}
	if int(p.Offset) > h.length {
		return "", errOffset
	}
	if p.Text == "" {
		return "", nil
	}
	have := h.text[h.index(int(p.Offset)):] // not copied: a sender may repeat small parts of a long text
	same := min(len(have), len(p.Text))
	if p.Text[:same] != string(have[:same]) {
		return "", errOffset
	}
	return p.Text[same:], nil
}

// index returns where a character begins. The caller holds mu.
func (h *held) index(character int) int {
	if len(h.text) == h.length {
		return character
	}
	at := 0
	if n := min(character/markInterval, len(h.marks)); n > 0 {
		at, character = h.marks[n-1], character-n*markInterval
	}
	for range character {
		_, n := utf8.DecodeRune(h.text[at:])
		at += n
	}
	return at
}

// append adds text, of some characters. The caller holds mu, or has the only reference.
func (h *held) append(text string, characters int) {
	h.text, h.length = append(h.text, text...), h.length+characters
	for (len(h.marks)+1)*markInterval <= h.length {
		h.marks = append(h.marks, h.index((len(h.marks)+1)*markInterval))
	}
}

// soFar returns a copy of the text so far, as a reader may see it. The caller holds mu.
func (h *held) soFar() *chatv1.StreamedText {
	return &chatv1.StreamedText{Conversation: uint64(h.conversation), Seq: h.seq, Text: string(h.text[:h.pushed.bytes]), State: h.state, Note: h.note}
}

// checkPart returns why a part is not valid.
func checkPart(p *chatv1.StreamedPart) error {
	switch {
	case len(p.Text) > utf8.UTFMax*message.MaxText:
		return errs.New(errs.Invalid, "text_too_long", "a text has at most 100,000 characters")
	case !utf8.ValidString(p.Text) || bytes.IndexByte([]byte(p.Text), 0) >= 0:
		return errs.New(errs.Invalid, "bad_text", "a text must be valid UTF-8 without U+0000")
	case !message.IsText(p.Note, maxNote, message.IsLine):
		return errNote
	}
	if _, known := chatv1.WritingState_name[int32(p.State)]; !known {
		return errs.New(errs.Invalid, "bad_parts", "the state of a part is one of the values of WritingState")
	}
	return nil
}
