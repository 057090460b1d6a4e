package chat

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/message"
	"github.com/rialto-im/rialto/internal/timeline"
	"google.golang.org/protobuf/proto"
)

// Limits of messages.
const (
	MaxText     = 100_000 // characters (code points)
	maxCustom   = 64 << 10
	maxClientID = 64
	loadTime    = 30 * time.Second // for reading a room; then the drafts that wait are refused
)

// sending is a draft on its way through the log.
type sending struct {
	service *Service
	room    *room
	draft   *message.Draft
	append  timeline.Append
	list    [1]*timeline.Append // what Log.Append takes, without an allocation
}

var sendings = sync.Pool{New: func() any { return new(sending) }}

// Submit stores a draft: Done is called when it is durable, or refused. It does not block.
func (s *Service) Submit(d *message.Draft) {
	if err := check(d); err != nil {
		refuse(d, err)
		return
	}
	for !s.submit(s.room(d.Conversation), d) { //nolint:revive // the room was dropped from memory between the two
	}
}

func refuse(d *message.Draft, err error) {
	d.Err = err
	d.Done(d)
}

// putOff refuses a draft, for now it may be.
func (s *Service) putOff(r *room, d *message.Draft, err error) {
	d.Err = err
	r.refusals.note(d, s.deps.Clock)
	d.Done(d)
}

// submit is false when the room is no longer the conversation's.
func (s *Service) submit(r *room, d *message.Draft) bool {
	r.mu.Lock()
	if r.gone {
		r.mu.Unlock()
		return false
	}
	if err := r.refusals.before(d, s.deps.Clock); err != nil {
		r.mu.Unlock()
		refuse(d, err)
		return true
	}
	if !r.busy && s.outdated(r.state) {
		r.state = nil
	}
	// Who is let in is checked by the log. Who is not is refused only after a look whether another node has let him in.
	refused := r.state != nil && r.state.admits(d.Sender, s.deps.Clock.Now().UnixMilli()) != nil
	r.doubted = r.doubted || refused
	if r.busy || r.state == nil || d.Upload != 0 || refused || r.away() {
		s.wait(r, d) // for the state, or until the upload was looked at
		return true
	}
	// Under r.mu, so that a sender's drafts reach the log in their order.
	err := s.append(r, d)
	r.mu.Unlock()
	if err != nil {
		s.refuseNew(r, d, err)
	}
	return true
}

// away tells whether drafts with another access version than the present state's are in the log's queue. The caller holds r.mu.
func (r *room) away() bool {
	return r.flying.Load() > 0 && (r.state == nil || r.flyingAt != r.state.access)
}

// wait keeps a draft until the room is ready. The caller holds r.mu, which is released.
func (s *Service) wait(r *room, d *message.Draft) {
	if len(r.waiting) >= waitingMost {
		r.mu.Unlock()
		s.putOff(r, d, timeline.ErrBusy)
		return
	}
	r.waiting = append(r.waiting, d)
	first := !r.busy
	r.busy = true
	r.mu.Unlock()
	if first {
		go s.loadFor(r) // ends when the room is loaded; at most 64 load at once
	}
}

func (s *Service) loadFor(r *room) {
	s.loads <- struct{}{}
	ctx, cancel := context.WithTimeout(context.Background(), loadTime)
	defer cancel()
	r.changing.Lock()
	err := s.look(ctx, r)
	if err == nil {
		_, err = s.fill(ctx, r)
	}
	r.changing.Unlock()
	<-s.loads
	if ctx.Err() != nil {
		err = &errs.Error{Kind: errs.Unavailable, Reason: "busy", Message: "the server is busy; try again", Retry: 1e9, Cause: err}
	}
	s.release(r, err)
}

// look drops a doubted state when the log knows a newer one. The caller holds changing.
func (s *Service) look(ctx context.Context, r *room) error {
	r.mu.Lock()
	doubted := r.doubted && r.state != nil
	r.doubted = false
	r.mu.Unlock()
	if !doubted {
		return nil
	}
	tail, err := s.deps.Log.Tail(ctx, key(r.id))
	if err != nil {
		return err
	}
	r.mu.Lock()
	if r.state != nil && r.state.access < tail.Access {
		r.state = nil
	}
	r.mu.Unlock()
	return nil
}

// release lets the waiting drafts go on, in order: first those that came back from the log.
func (s *Service) release(r *room, err error) {
	for {
		r.mu.Lock()
		if r.away() {
			r.held.Store(true)
			r.mu.Unlock()
			if r.flying.Load() == 0 && r.held.CompareAndSwap(true, false) {
				continue // the last landed in between
			}
			return
		}
		stale := r.state == nil || r.state.access < r.freshFrom
		if stale && err == nil {
			r.state = nil
			r.mu.Unlock()
			go s.loadFor(r) // goes on where this ends
			return
		}
		drafts := append(r.returned, r.waiting...)
		r.returned, r.waiting = nil, nil
		if len(drafts) == 0 {
			r.busy = false
			r.mu.Unlock()
			return
		}
		r.mu.Unlock()
		s.goOn(r, drafts, s.checkUploads(r, drafts, err), err)
	}
}

// goOn appends the drafts that are not refused. They wait again where the state changed meanwhile.
func (s *Service) goOn(r *room, drafts []*message.Draft, refused []error, err error) {
	r.mu.Lock()
	if err == nil && (r.state == nil || len(r.returned) > 0) {
		r.waiting = append(drafts, r.waiting...)
		r.mu.Unlock()
		return
	}
	now := s.deps.Clock.Now().UnixMilli()
	for i, d := range drafts {
		if err != nil {
			refused[i] = err
		} else if refused[i] == nil {
			if refused[i] = r.state.admits(d.Sender, now); refused[i] == nil {
				refused[i] = r.refusals.before(d, s.deps.Clock)
			}
			if refused[i] == nil {
				refused[i] = s.append(r, d)
			}
		}
	}
	r.mu.Unlock()
	for i, d := range drafts {
		switch {
		case refused[i] == nil:
		case err != nil:
			s.putOff(r, d, err)
		default:
			s.refuseNew(r, d, refused[i])
		}
	}
}

// refuseNew refuses a draft unless it is a retry of what is stored, which has its answer whatever changed since.
func (s *Service) refuseNew(r *room, d *message.Draft, why error) {
	s.deps.Log.Append(&timeline.Append{Key: key(d.Conversation), Token: tokenOf(d), CheckAccess: true, IfAccess: noAccess, Done: func(a *timeline.Append) {
		if errors.Is(a.Err, timeline.ErrStale) {
			a.Err = why
		}
		answer(d, a)
		r.refusals.note(d, s.deps.Clock)
		d.Done(d)
	}})
}

// noAccess is the access version of no conversation: the log knows the token, or stores nothing.
const noAccess = math.MaxUint64

// answer sets a draft's results.
func answer(d *message.Draft, a *timeline.Append) {
	d.Seq, d.Counted, d.Duplicate, d.Err = a.Seq, a.Counted, a.Duplicate, a.Err
	if d.Err != nil || !d.Duplicate {
		return
	}
	if a.Stored == nil {
		d.Err = errExpired
		return
	}
	var e message.Entry
	if err := e.Decode(a.Stored); err != nil {
		d.Err = err
	} else if d.ID = e.ID; !bytes.Equal(e.Content, d.Content) {
		d.Err = timeline.ErrIDReuse
	}
}

// checkUploads gives for each draft why it is refused. Where err refuses all, and for those who may not write, nothing is asked.
func (s *Service) checkUploads(r *room, drafts []*message.Draft, err error) []error {
	refused := make([]error, len(drafts))
	if s.deps.Uploads == nil || err != nil {
		return refused
	}
	r.mu.Lock()
	st := r.state
	r.mu.Unlock()
	now := s.deps.Clock.Now().UnixMilli()
	ctx, cancel := context.WithTimeout(context.Background(), loadTime)
	defer cancel()
	var asked []int // of drafts
	var by []id.User
	var uploads []id.Upload
	for i, d := range drafts {
		if d.Upload == 0 {
			continue
		}
		if st != nil {
			refused[i] = st.admits(d.Sender, now)
		}
		if refused[i] == nil {
			asked, by, uploads = append(asked, i), append(by, d.Sender), append(uploads, d.Upload)
		}
	}
	if len(asked) == 0 {
		return refused
	}
	for i, err := range s.deps.Uploads(ctx, r.id, by, uploads) { // at once: the others of the room wait meanwhile
		refused[asked[i]] = err
	}
	return refused
}

// append gives a draft to the log. It fails where there is no id for it. The caller holds r.mu.
func (s *Service) append(r *room, d *message.Draft) (err error) {
	if d.ID, err = s.deps.MessageIDs.Next(uint8(r.state.kind), d.Conversation); err != nil {
		return err
	}
	w := sendings.Get().(*sending)
	w.service, w.room, w.draft = s, r, d
	e := message.Entry{ID: d.ID, Sender: d.Sender, Device: d.Device, ClientSeq: d.ClientSeq, Content: d.Content}
	w.append = timeline.Append{
		Key: key(d.Conversation), Payload: e.Append(make([]byte, 0, len(d.Content)+40)), Token: tokenOf(d), Author: uint64(d.Sender),
		Counts: true, CheckAccess: true, IfAccess: r.state.access, Carry: true, Done: sent, Context: w,
	}
	r.flyingAt = r.state.access
	r.flying.Add(1)
	w.list[0] = &w.append
	s.deps.Log.Append(w.list[:]...)
	return nil
}

func tokenOf(d *message.Draft) timeline.Token {
	t := timeline.Token{Sender: uint64(d.Sender), Device: uint64(d.Device), Counter: d.ClientSeq}
	if d.ClientSeq == 0 {
		b := binary.BigEndian.AppendUint64(nil, uint64(d.Conversation))
		b = binary.BigEndian.AppendUint64(b, uint64(d.Sender))
		b = binary.BigEndian.AppendUint64(b, uint64(d.Device))
		sum := sha256.Sum256(append(b, d.ClientMsgID...))
		copy(t.Sum[:], sum[:])
	}
	return t
}

// sent is called by the log.
func sent(a *timeline.Append) {
	w := a.Context.(*sending)
	s, r, d := w.service, w.room, w.draft
	answer(d, a)
	access := a.IfAccess
	*w = sending{}
	sendings.Put(w)
	if errors.Is(d.Err, timeline.ErrStale) {
		s.again(r, d, access)
		s.landed(r)
		return
	}
	r.refusals.note(d, s.deps.Clock)
	s.landed(r)
	d.Done(d)
}

// landed counts a draft out of the log's queue.
func (s *Service) landed(r *room) {
	if r.flying.Add(-1) == 0 && r.held.CompareAndSwap(true, false) {
		go s.loadFor(r) // ends when the room is loaded
	}
}

// again has a draft wait for a fresh load of the room: another node changed the access list that it was admitted by.
func (s *Service) again(r *room, d *message.Draft, access uint64) {
	r.mu.Lock()
	r.freshFrom = max(r.freshFrom, access+1)
	r.returned = append(r.returned, d)
	first := !r.busy
	r.busy = true
	if first && r.state != nil && r.state.access < r.freshFrom {
		r.state = nil
	}
	r.mu.Unlock()
	if first {
		go s.loadFor(r) // ends when the room is loaded; at most 64 load at once
	}
}

// Send is Submit that waits. A context that ends leaves the outcome unknown.
func (s *Service) Send(ctx context.Context, d *message.Draft) error {
	done := make(chan struct{})
	d.Done = func(*message.Draft) { close(done) }
	s.Submit(d)
	select {
	case <-done:
		return d.Err
	case <-ctx.Done():
		return ctx.Err()
	}
}

var (
	errBlocked   = errs.New(errs.Denied, "blocked", "you cannot write to this user")
	errMuted     = errs.New(errs.Denied, "muted", "you are muted in this group")
	errExpired   = errs.New(errs.Conflict, "expired", "this message was stored, and has expired since")
	errDissolved = errs.New(errs.Denied, "dissolved", "this group was dissolved")
)

// admits tells whether a user may write.
func (s *state) admits(u id.User, nowMs int64) error {
	m, ok := s.members[u]
	switch {
	case !ok || m.leave != 0:
		return errNoConversation
	case s.dissolved:
		return errDissolved
	case s.blocked:
		return errBlocked
	case s.unknown != nil:
		return s.unknown
	case m.mutedUntilMs > nowMs, s.mutedAllMs > nowMs && m.role == chatv1.Role_ROLE_MEMBER:
		return errMuted
	}
	return nil
}

var (
	errNoID      = errs.New(errs.Invalid, "no_client_id", "give client_seq (a count, from 1) or client_msg_id (1 to 64 bytes), so that a retry is harmless")
	errLong      = errs.New(errs.Invalid, "text_too_long", "a text has at most 100,000 characters; send it in parts, or as a file")
	errText      = errs.New(errs.Invalid, "bad_text", "a text must be valid UTF-8 without U+0000")
	errEmpty     = errs.New(errs.Invalid, "empty_text", "a text must have something to see")
	errNoContent = errs.New(errs.Invalid, "no_content", "a message needs content of exactly one kind")
)

func check(d *message.Draft) error {
	if d.ClientSeq == 0 && (d.ClientMsgID == "" || len(d.ClientMsgID) > maxClientID) || d.ClientSeq > 1<<63-1 {
		return errNoID
	}
	if d.ClientSeq != 0 && d.ClientMsgID != "" {
		return errs.New(errs.Invalid, "two_client_ids", "give client_seq or client_msg_id, not both")
	}
	if d.ClientSeq != 0 && d.Device == 0 { // two senders that count apart would meet in one number, and one's message be lost
		return errs.New(errs.Invalid, "no_device", "no device is known whose messages could be counted: give client_msg_id")
	}
	if text, ok := message.TextOf(d.Content); ok {
		return checkText(text)
	}
	return checkContent(d)
}

// blank are symbols and letters that show nothing.
const blank = "\u115f\u1160\u2800\u3164\uffa0"

func checkText(text []byte) error {
	if len(text) > 4*MaxText {
		return errLong
	}
	visible, ascii := false, true
	for _, c := range text {
		if c >= utf8.RuneSelf {
			ascii = false
			break
		}
		if c == 0 {
			return errText
		}
		visible = visible || c > ' ' && c != 0x7f
	}
	if !ascii {
		if !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 {
			return errText
		}
		if len(text) > MaxText && utf8.RuneCount(text) > MaxText {
			return errLong
		}
		visible = visible || bytes.ContainsFunc(text, func(r rune) bool {
			return unicode.IsGraphic(r) && !unicode.IsSpace(r) && !strings.ContainsRune(blank, r)
		})
	} else if len(text) > MaxText {
		return errLong
	}
	if !visible {
		return errEmpty
	}
	return nil
}

// checkContent checks what is not one plain text, and gives it the form that is stored.
func checkContent(d *message.Draft) error {
	var c chatv1.Content
	// What we do not know is dropped: it would pass every limit.
	if len(d.Content) == 0 || (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(d.Content, &c) != nil || c.Kind == nil {
		return errNoContent
	}
	long := func(texts ...string) bool {
		for _, t := range texts {
			if len(t) > 8000 || utf8.RuneCountInString(t) > 2000 || strings.ContainsRune(t, 0) {
				return true
			}
		}
		return false
	}
	bad := func(what string) error { return errs.New(errs.Invalid, "bad_content", what) }
	media := func(m *chatv1.Media) error {
		if m.GetUpload() == 0 || long(m.Name, m.MimeType, m.Caption) {
			return bad("a file needs the id of its upload, a name and a caption of at most 2,000 characters")
		}
		d.Upload = id.Upload(m.Upload)
		return nil
	}
	var err error
	switch k := c.Kind.(type) {
	case *chatv1.Content_Text:
		err = checkText([]byte(k.Text))
	case *chatv1.Content_Image:
		err = media(k.Image)
	case *chatv1.Content_File:
		err = media(k.File)
	case *chatv1.Content_Voice:
		err = media(k.Voice)
	case *chatv1.Content_Video:
		err = media(k.Video)
	case *chatv1.Content_Location:
		if l := k.Location; !(l.Latitude >= -90 && l.Latitude <= 90 && l.Longitude >= -180 && l.Longitude <= 180) || long(l.Label) {
			err = bad("a location has a latitude of -90 to 90, a longitude of -180 to 180 and a label")
		}
	case *chatv1.Content_Card:
		if long(k.Card.Title, k.Card.Text, k.Card.Url) || k.Card.Title == "" {
			err = bad("a card needs a title; its texts have at most 2,000 characters")
		}
	case *chatv1.Content_Custom:
		if len(k.Custom.Data) > maxCustom || long(k.Custom.Type) || k.Custom.Type == "" {
			err = bad("a custom message needs a type and at most 64 KiB of data")
		}
	default:
		err = bad("control entries are written by the server only")
	}
	if err != nil {
		return err
	}
	d.Content, err = proto.MarshalOptions{Deterministic: true}.Marshal(&c)
	return err
}
