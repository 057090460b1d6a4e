package serverevent

import (
	"context"
	"regexp"
	"slices"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/platform/webhook"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	eventv1 "github.com/rialto-im/rialto/sdk/go/gen/event/v1"
)

// consumer is a row.
type consumer struct {
	name       string
	filter     filter
	bot        id.User
	audit      bool
	url        string
	secret     string
	generation uint64
	lastError  string
	retrying   map[timeline.Key]bool // streams with dead letters to be delivered again; for the deliverer
}

// filter is what a consumer receives. Its zero value is everything.
type filter struct {
	kinds         []eventv1.EventKind
	conversations []chatv1.ConversationKind
	// bots are the users whose messages are left out: those of all bots, for a bot; only its own, for that of a bridge.
	bots []id.User
	// bridge is whose entries are left out: what came over a bridge does not go back over it. "": there is none.
	bridge string
}

const (
	// maxConsumers bounds those that receive all events, and maxBotConsumers those of one bot.
	maxConsumers    = 100
	maxBotConsumers = 10
)

// streams are those that the consumer reads, in the order of cursors.
func (c *consumer) streams() []timeline.Key {
	if c.bot != 0 {
		return []timeline.Key{{Kind: timeline.Inbox, ID: uint64(c.bot)}}
	}
	keys := make([]timeline.Key, timeline.Partitions)
	for p := range keys {
		keys[p] = timeline.EventStream(uint16(p))
	}
	return keys
}

// describe is the consumer as callers see it.
func (c *consumer) describe() *eventv1.EventConsumer {
	v := &eventv1.EventConsumer{Name: c.name, Kinds: c.filter.kinds, ConversationKinds: c.filter.conversations, Bot: uint64(c.bot), Audit: c.audit, LastError: c.lastError}
	if c.url != "" {
		v.Webhook = &eventv1.EventWebhook{Url: c.url}
	}
	return v
}

var (
	namePattern = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

	errName       = errs.New(errs.Invalid, "bad_consumer", "a consumer's name has 1 to 64 letters, digits, points, hyphens and underscores")
	errFilter     = errs.New(errs.Invalid, "bad_filter", "give only kinds and conversation kinds that exist, each once")
	errNoConsumer = errs.New(errs.NotFound, "no_consumer", "there is no consumer of this name; create it with PutEventConsumer")
	errBotFixed   = errs.New(errs.Conflict, "bot_fixed", "whose events a consumer receives cannot be changed; create another consumer")
	errAudit      = errs.New(errs.Denied, "no_audit", "this needs an API key with the permission audit: rialto admin key create --audit")
	errTooMany    = errs.New(errs.Exhausted, "too_many_consumers", "there are at most 100 consumers, and 10 of one bot; delete one first")
	errNotYours   = errs.New(errs.Denied, "not_your_consumer", "a bot's key may use the consumers of its bot only")
)

// checkAccess fails if a caller may not use a consumer.
func checkAccess(by id.Caller, bot id.User, audit bool) error {
	switch {
	case !by.Server && (bot == 0 || bot != by.User):
		return errNotYours
	case audit && !by.Audit:
		return errAudit
	}
	return nil
}

// PutConsumer creates or changes a consumer.
func (s *Service) PutConsumer(ctx context.Context, by id.Caller, r *eventv1.PutEventConsumerRequest) (*eventv1.EventConsumer, error) {
	if s.config.Off {
		return nil, errOff
	}
	in := r.Consumer
	if !namePattern.MatchString(in.GetName()) {
		return nil, errName
	}
	bot := id.User(in.Bot)
	if bot == 0 && !by.Server {
		bot = by.User
	}
	if err := checkAccess(by, bot, in.Audit); err != nil {
		return nil, err
	}
	c := &consumer{name: in.Name, filter: filter{kinds: in.Kinds, conversations: in.ConversationKinds}, bot: bot, audit: in.Audit}
	if err := c.filter.check(); err != nil {
		return nil, err
	}
	if c.bot != 0 {
		if err := s.deps.Accounts.Exist(ctx, []id.User{c.bot}); err != nil {
			return nil, err
		}
	}
	if w := in.Webhook; w != nil {
		c.url, c.secret = w.Url, w.Secret
		if err := webhook.CheckEndpoint(w.Url, w.Secret, s.config.AllowPrivate, "server_events.allow_private"); err != nil {
			return nil, err
		}
	}
	positions := map[timeline.Key]uint64{}
	if !r.FromStart {
		var err error
		if positions, err = s.tails(ctx, c.streams()); err != nil {
			return nil, err
		}
	}
	if err := s.storeConsumer(ctx, by, c, positions); err != nil {
		return nil, err
	}
	s.deliverer.reload()
	return c.describe(), nil
}

func (f *filter) check() error {
	if len(f.kinds) > len(eventv1.EventKind_name) || len(f.conversations) > len(chatv1.ConversationKind_name) {
		return errFilter
	}
	for i, k := range f.kinds {
		if eventv1.EventKind_name[int32(k)] == "" || k == 0 || slices.Contains(f.kinds[:i], k) {
			return errFilter
		}
	}
	for i, k := range f.conversations {
		if chatv1.ConversationKind_name[int32(k)] == "" || k == 0 || slices.Contains(f.conversations[:i], k) {
			return errFilter
		}
	}
	return nil
}

func (s *Service) hookConfig(address, secret string) webhook.Config {
	return webhook.Config{URL: address, Secret: secret, Timeout: s.config.Timeout, AllowPrivate: s.config.AllowPrivate}
}

// ListConsumers returns all consumers that a caller may use.
func (s *Service) ListConsumers(ctx context.Context, by id.Caller) (*eventv1.ListEventConsumersResponse, error) {
	all, err := s.consumers(ctx)
	if err != nil {
		return nil, err
	}
	res := &eventv1.ListEventConsumersResponse{}
	for _, c := range all {
		if !by.Server && c.bot != by.User {
			continue
		}
		v := c.describe()
		if v.Lag, err = s.lag(ctx, c); err != nil {
			return nil, err
		}
		if v.Dead, err = s.countDead(ctx, c.name); err != nil {
			return nil, err
		}
		res.Consumers = append(res.Consumers, v)
	}
	return res, nil
}

// lag returns how many entries a consumer's streams have after its positions. After a crash it is too low.
func (s *Service) lag(ctx context.Context, c *consumer) (n uint64, err error) {
	positions, err := s.positions(ctx, c.name)
	if err != nil {
		return 0, err
	}
	tails, err := s.tails(ctx, c.streams())
	if err != nil {
		return 0, err
	}
	const numbers = 1<<32 - 1
	for k, tail := range tails {
		switch at := positions[k]; {
		case at >= tail:
		case at>>32 == tail>>32:
			n += tail - at
		default:
			n += tail & numbers
		}
	}
	return n, nil
}

// tails returns the seqs of the newest entries of streams.
func (s *Service) tails(ctx context.Context, keys []timeline.Key) (map[timeline.Key]uint64, error) {
	found, err := s.deps.Log.Tails(ctx, keys)
	if err != nil {
		return nil, err
	}
	tails := make(map[timeline.Key]uint64, len(keys))
	for i, k := range keys {
		tails[k] = found[i].Seq
	}
	return tails, nil
}

// DeleteConsumer deletes a consumer, its positions and its dead letters.
func (s *Service) DeleteConsumer(ctx context.Context, by id.Caller, name string) error {
	if _, err := s.consumerOf(ctx, by, name); errs.Is(err, errs.NotFound) {
		return nil
	} else if err != nil {
		return err
	}
	err := s.deleteConsumer(ctx, name)
	s.deliverer.reload()
	return err
}

// consumerOf returns a consumer that a caller may use.
func (s *Service) consumerOf(ctx context.Context, by id.Caller, name string) (*consumer, error) {
	all, err := s.consumers(ctx)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(all, func(c *consumer) bool { return c.name == name })
	if at < 0 {
		return nil, errNoConsumer
	}
	return all[at], checkAccess(by, all[at].bot, all[at].audit)
}
