package chat

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/base/outgoing"
	"github.com/rialto-im/rialto/internal/platform/webhook"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// A webhook may be asked before a message or an edit is stored. Drafts that wait for it are held outside of the mailbox of their conversation, so that others
// go on. Those of one sender's device in one conversation go on in their order, also those for which nobody is asked.

// BeforeSendQuery is the body of a request to the webhook.
type BeforeSendQuery struct {
	Conversation string      `json:"conversation"`
	Sender       RelatedUser `json:"sender"`
	// Content is a rialto.chat.v1.Content, as JSON.
	Content json.RawMessage `json:"content"`
	// Files of the sender that the content names.
	Files []webhook.File `json:"files,omitempty"`
}

// beforeSendAnswer is the webhook's.
type beforeSendAnswer struct {
	Allow *bool `json:"allow"`
	// Hold wants a moderator to decide. Whatever else the answer says, the message is not stored now.
	Hold bool `json:"hold"`
	// Reason of a refusal, which the sender is shown, or of holding, which moderators are shown.
	Reason string `json:"reason"`
	// Text replaces that of the message.
	Text *string `json:"text"`
}

const (
	defaultBeforeSendTimeout = 300 * time.Millisecond
	maxBeforeSendTimeout     = 5 * time.Second
	// beforeSendAtOnce bounds the requests in progress, maxAsked the drafts that wait, and maxAskedBytes their contents.
	beforeSendAtOnce = 64
	maxAsked         = 4096
	maxAskedBytes    = 16 << 20
)

// beforeSend has the drafts that wait for the webhook.
type beforeSend struct {
	hook   *webhook.Guard
	asking drain // the requests in progress

	mu      sync.Mutex // guards the fields below
	waiting map[askKey]*askQueue
	number  int // of drafts in waiting
	bytes   int
}

// askKey is whose order counts.
type askKey struct {
	conversation id.Conversation
	senderDevice
}

// askQueue has the drafts of one device in a conversation, in their order.
type askQueue struct {
	list      []*asked
	releasing bool // a goroutine passes those at the head on
}

// asked is a draft, and what the webhook decided.
type asked struct {
	draft *message.Draft
	bytes int
	done  bool
	err   error // refused
}

func (c Config) checkBeforeSend() error {
	if err := c.BeforeSend.Check(); err != nil {
		return fmt.Errorf("chat.before_send: %w", err)
	}
	if c.BeforeSend.Timeout > maxBeforeSendTimeout {
		return fmt.Errorf("chat.before_send.timeout is at most %v: senders wait for it", maxBeforeSendTimeout)
	}
	if !slices.Contains(webhook.OnFailure, c.BeforeSendOnFailure) {
		return fmt.Errorf("chat.before_send_on_failure is refuse, allow or hold, not %q", c.BeforeSendOnFailure)
	}
	if !slices.Contains([]string{"", "hide", "show"}, c.BeforeSendParts) {
		return fmt.Errorf("chat.before_send_parts is hide or show, not %q", c.BeforeSendParts)
	}
	return nil
}

func (s *Service) initBeforeSend() error {
	config := s.config.BeforeSend
	if config.Timeout == 0 {
		config.Timeout = defaultBeforeSendTimeout
	}
	hook, err := webhook.NewGuard(config, webhook.Kind{Kind: outgoing.BeforeSend, Calls: s.deps.Calls}, s.deps.Clock, beforeSendAtOnce, config.Timeout)
	s.beforeSend = &beforeSend{hook: hook, waiting: map[askKey]*askQueue{}}
	return err
}

// isAsked reports whether the webhook is asked about a content: a message or an edit. It is not asked about recalls, reactions, pins and signals.
func isAsked(content []byte) bool {
	if _, text := message.TextOf(content); text {
		return true
	}
	var c chatv1.Content
	if proto.Unmarshal(content, &c) != nil {
		return false
	}
	switch c.Kind.(type) {
	case *chatv1.Content_Recall, *chatv1.Content_Reaction, *chatv1.Content_Pin, *chatv1.Content_Signal, *chatv1.Content_Thread, *chatv1.Content_Control:
		return false
	}
	return true
}

// holdForHook holds a draft for which the webhook is asked, or that follows one. It does not block.
func (s *Service) holdForHook(d *message.Draft) bool {
	b := s.beforeSend
	ask := d.Sender != 0 && isAsked(d.Content)
	key := askKey{d.Conversation, senderDevice{d.Sender, d.Device}}
	one := &asked{draft: d, bytes: len(d.Content), done: !ask}
	b.mu.Lock()
	q := b.waiting[key]
	if !ask && q == nil {
		b.mu.Unlock()
		return false
	}
	if b.number >= maxAsked || b.bytes+one.bytes > maxAskedBytes || !b.asking.start() {
		b.mu.Unlock()
		s.rejectRetryable(s.conversation(d.Conversation), d, busy(nil))
		return true
	}
	if q == nil {
		q = &askQueue{}
		b.waiting[key] = q
	}
	q.list = append(q.list, one)
	b.number++
	b.bytes += one.bytes
	b.mu.Unlock()
	go func() { // ends after the timeout of the webhook; Run waits for it
		defer b.asking.end()
		if ask {
			hold, err := s.askBeforeSend(d)
			if err == nil && hold != "" {
				err = s.holdUnlessStored(d, hold)
			}
			b.mu.Lock()
			one.done, one.err = true, err
			b.mu.Unlock()
		}
		s.releaseAsked(key)
	}()
	return true
}

// releaseAsked passes on the drafts at the head of a queue that are decided.
func (s *Service) releaseAsked(key askKey) {
	b := s.beforeSend
	b.mu.Lock()
	defer b.mu.Unlock()
	q := b.waiting[key]
	if q == nil || q.releasing {
		return
	}
	q.releasing = true
	for len(q.list) > 0 && q.list[0].done {
		one := q.list[0]
		q.list = q.list[1:]
		b.number--
		b.bytes -= one.bytes
		b.mu.Unlock()
		switch conversation := s.conversation(one.draft.Conversation); {
		case one.err == nil:
			s.submitValid(one.draft)
		case errs.Is(one.err, errs.Unavailable):
			s.rejectRetryable(conversation, one.draft, one.err)
		default:
			s.rejectUnlessStored(conversation, one.draft, one.err)
		}
		b.mu.Lock()
	}
	q.releasing = false
	if len(q.list) == 0 {
		delete(b.waiting, key)
	}
}

// askBeforeSend asks the webhook about a draft. It returns why a moderator is to decide, "" if none is, or why the draft is refused, and replaces its text if the
// webhook wants that.
func (s *Service) askBeforeSend(d *message.Draft) (hold string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*maxBeforeSendTimeout)
	defer cancel()
	var answer beforeSendAnswer
	var replaced []byte
	q, err := s.beforeSendQuery(ctx, d)
	if err == nil {
		err = s.beforeSend.hook.Call(ctx, q, &answer, func() error {
			if answer.Allow == nil && !answer.Hold {
				return errNoAllow
			}
			return nil
		})
	}
	// A text that does not fit this message says nothing about the webhook: senders, who choose messages, could open its circuit for everybody.
	if err == nil && !answer.Hold && *answer.Allow && answer.Text != nil {
		replaced, err = replaceText(d.Content, *answer.Text)
	}
	allow, holds := s.config.BeforeSendOnFailure == "allow", s.config.BeforeSendOnFailure == "hold"
	if err != nil && !outgoing.IsRefused(err) { // the change of its circuit is logged once
		s.deps.Logger.Warn("the webhook before_send did not answer", "conversation", d.Conversation, "sender", d.Sender, "message_stored", allow, "error", err)
	}
	switch {
	case err != nil && allow:
	case err != nil && holds:
		return webhook.NoAnswer, nil
	case err != nil:
		return "", errNotChecked(err)
	case answer.Hold:
		return webhook.HoldText(answer.Reason), nil
	case !*answer.Allow:
		return "", errs.New(errs.Denied, "refused_by_rules", refusalText(answer.Reason))
	}
	d.Asked = true
	if replaced == nil {
		return "", nil
	}
	d.Content, d.Refers, d.RefersByClientSeq, d.Mentions, d.LinkPreview, d.Uploads = replaced, false, false, false, false, nil
	return "", s.validate(d)
}

// errNotChecked refuses a message for now that the webhook was to decide about.
func errNotChecked(cause error) error {
	return &errs.Error{Kind: errs.Unavailable, Reason: "not_checked", Message: "whether this message may be sent is not known now; try again", Retry: 2 * time.Second, Cause: cause}
}

func (s *Service) beforeSendQuery(ctx context.Context, d *message.Draft) (*BeforeSendQuery, error) {
	var c chatv1.Content
	if err := proto.Unmarshal(d.Content, &c); err != nil {
		return nil, err
	}
	raw, err := protojson.Marshal(&c)
	if err != nil {
		return nil, err
	}
	q := &BeforeSendQuery{Conversation: d.Conversation.String(), Sender: RelatedUser{ID: strconv.FormatUint(uint64(d.Sender), 10)}, Content: raw}
	if s.deps.ExternalIDs != nil {
		names, err := s.deps.ExternalIDs(ctx, []id.User{d.Sender})
		if err != nil {
			return nil, err
		}
		q.Sender.ExternalID = names[0]
	}
	if s.deps.ReviewFiles != nil && len(d.Uploads) > 0 {
		q.Files, err = s.deps.ReviewFiles(ctx, d.Sender, d.Uploads)
	}
	return q, err
}

var errNoText = errors.New("the message has no text or caption to replace, or the new text is not valid")

// replaceText returns a content with another text or caption. Mentions and the link preview of the old text go.
func replaceText(content []byte, text string) ([]byte, error) {
	var c chatv1.Content
	if err := proto.Unmarshal(content, &c); err != nil {
		return nil, err
	}
	to := &c
	if c.GetEdit() != nil {
		to = c.GetEdit().Content
	}
	switch _, isText := to.GetKind().(*chatv1.Content_Text); {
	case isText && validateText([]byte(text)) == nil:
		to.Kind = &chatv1.Content_Text{Text: text}
	case !isText && captionOf(to) != nil && utf8.ValidString(text) && !strings.Contains(text, "\x00"):
		*captionOf(to) = text
	default:
		return nil, errNoText
	}
	to.Mentions, to.LinkPreview = nil, nil
	return proto.MarshalOptions{Deterministic: true}.Marshal(&c)
}

// refusalText is what the sender is told.
func refusalText(reason string) string {
	return cmp.Or(webhook.ReasonText(reason), "this message is against the rules of this server")
}
