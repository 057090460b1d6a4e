package chat

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/base/budget"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/base/outgoing"
	"github.com/rialto-im/rialto/internal/platform/webhook"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// A webhook may be asked before a message or an edit is stored. Drafts that wait for it are held outside of the mailbox of their conversation, so that others
// go on. Those of one sender's device in one conversation go on in their order, also those for which nobody is asked.

// BeforeSendQuery is the body of a request to the webhook. Its content is a rialto.chat.v1.Content.
type BeforeSendQuery struct {
	Conversation string       `json:"conversation"`
	Sender       webhook.User `json:"sender"`
	webhook.Reviewed
}

const (
	// maxAskedBytes bounds the drafts that wait, which cost askedOverhead beside their contents: 4,096 short ones. maxUserBytes bounds those of one user, which are
	// before those of others in the queue of the webhook: 128 short ones, or one of any size. Each network has a share as well.
	maxAskedBytes = 16 << 20
	maxUserBytes  = 512 << 10
	askedOverhead = 4 << 10
	holdTimeout   = 5 * time.Second // of the database, to put a draft into the queue of moderators
)

// beforeSend has the drafts that wait for the webhook.
type beforeSend struct {
	reviewer *webhook.Reviewer
	asking   drain          // the requests in progress
	bytes    *budget.Budget // of the drafts in waiting

	mu      sync.Mutex // guards waiting; of other locks only those of bytes and of the transport (Draft.Park) are taken under it
	waiting map[askKey]*askQueue
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
	bytes int // that are charged for it
	done  bool
	err   error // refused
}

// review is what webhook.Reviewer is told of the settings.
func (c Config) review() webhook.ReviewConfig {
	return webhook.ReviewConfig{Config: c.BeforeSend, OnFailure: c.BeforeSendOnFailure, Setting: "chat.before_send", Waiting: "senders", DefaultTimeout: 300 * time.Millisecond,
		NotChecked: "whether this message may be sent is not known now; try again", Refused: "this message is against the rules of this server"}
}

func (c Config) checkBeforeSend() error {
	if err := c.review().Check(); err != nil {
		return err
	}
	if !slices.Contains([]string{"", "hide", "show"}, c.BeforeSendParts) {
		return fmt.Errorf("chat.before_send_parts is hide or show, not %q", c.BeforeSendParts)
	}
	return nil
}

func (s *Service) initBeforeSend() error {
	reviewer, err := webhook.NewReviewer(s.config.review(), webhook.Kind{Kind: outgoing.BeforeSend, Calls: s.deps.Calls}, s.deps.Clock, s.deps.Logger)
	s.beforeSend = &beforeSend{reviewer: reviewer, waiting: map[askKey]*askQueue{},
		bytes: budget.New(budget.Config{Bytes: maxAskedBytes, User: maxUserBytes, NetworkShare: budget.NetworkOfUsers})}
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
	case *chatv1.Content_Recall, *chatv1.Content_Reaction, *chatv1.Content_Pin, *chatv1.Content_Signal, *chatv1.Content_Thread, *chatv1.Content_BridgeReport, *chatv1.Content_Control:
		return false
	}
	return true
}

// holdForHook holds a draft for which the webhook is asked, or that follows one. It does not block.
func (s *Service) holdForHook(d *message.Draft) bool {
	b := s.beforeSend
	ask := d.Sender != 0 && isAsked(d.Content)
	key := askKey{d.Conversation, senderDevice{d.Sender, d.Device}}
	one := &asked{draft: d, bytes: len(d.Content) + askedOverhead, done: !ask}
	b.mu.Lock()
	q := b.waiting[key]
	if !ask && q == nil {
		b.mu.Unlock()
		return false
	}
	d.Park() // before anybody else has it
	acquired := b.bytes.Acquire(askedOwner(d), one.bytes)
	if !acquired || !b.asking.start() {
		b.mu.Unlock()
		if acquired {
			b.bytes.Release(askedOwner(d), one.bytes)
		}
		s.rejectRetryable(s.conversation(d.Conversation), d, busy(nil))
		return true
	}
	if q == nil {
		q = &askQueue{}
		b.waiting[key] = q
	}
	q.list = append(q.list, one)
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

// askedOwner is whose share a draft has while it waits.
func askedOwner(d *message.Draft) budget.Owner {
	return budget.Owner{User: uint64(d.Sender), Network: d.Network}
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
		b.mu.Unlock()
		b.bytes.Release(askedOwner(one.draft), one.bytes)
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
	var replaced []byte
	replace := func(v *webhook.Verdict) (err error) {
		if v.Text != nil {
			replaced, err = replaceText(d.Content, *v.Text)
		}
		return err
	}
	query := func(ctx context.Context) (any, error) { return s.beforeSendQuery(ctx, d) }
	hold, err = s.beforeSend.reviewer.Review(context.Background(), query, replace, "conversation", d.Conversation, "sender", d.Sender)
	if err != nil || hold != "" {
		return hold, err
	}
	d.Asked = true
	if replaced == nil {
		return "", nil
	}
	d.Content, d.Refers, d.RefersByClientSeq, d.Mentions, d.LinkPreview, d.Uploads = replaced, false, false, false, false, nil
	return "", s.validate(d)
}

func (s *Service) beforeSendQuery(ctx context.Context, d *message.Draft) (*BeforeSendQuery, error) {
	var c chatv1.Content
	if err := proto.Unmarshal(d.Content, &c); err != nil {
		return nil, err
	}
	sender, of, err := webhook.Sources{ExternalIDs: s.deps.ExternalIDs, Files: s.deps.ReviewFiles}.Describe(ctx, d.Sender, &c, d.Uploads)
	return &BeforeSendQuery{d.Conversation.String(), sender, of}, err
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
