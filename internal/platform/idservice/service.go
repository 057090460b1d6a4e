package idservice

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/idgen"
	idv1 "github.com/rialto-im/rialto/sdk/go/gen/id/v1"
)

// ServiceDeps are the dependencies of a Service.
type ServiceDeps struct {
	DB     Records
	Leases *idgen.Leases
	// Primaries of multi-primary ids, in order; if empty, DB is the only one.
	Primaries []Records
	// Redis is the address of the server of increments; empty: there is none.
	Redis  string
	Clock  clock.Clock
	Logger *slog.Logger
}

// Config of the id service.
type Config struct {
	// Primaries are the databases of multi-primary ids, each by itself: addresses as postgres://user@host/name, or files of SQLite.
	// All must answer at the first start; after that any one is enough. Default none: the records alone.
	Primaries []string `yaml:"primaries"`
	// Redis is the Redis or Valkey server of increments (scheme redis), as redis://host:6379/0, or rediss:// for TLS. Default none: the
	// scheme is refused.
	Redis string `yaml:"redis"`
}

// Check reports invalid settings.
func (c Config) Check() error {
	for i, where := range c.Primaries {
		if where == "" || slices.Contains(c.Primaries[:i], where) {
			return fmt.Errorf("ids.primaries must be %d different databases", len(c.Primaries))
		}
	}
	if len(c.Primaries) > maxStores {
		return fmt.Errorf("ids.primaries must be at most %d databases", maxStores)
	}
	if c.Redis != "" {
		return checkRedis(c.Redis)
	}
	return nil
}

// ServiceConfig configures a service.
type ServiceConfig struct {
	// Node is this node's name.
	Node string
	// Exclusive: only this process uses the database, and has locked it.
	Exclusive bool
}

// Service issues ids by tags: those that clients have created, and one built-in tag for each scheme. Its generators are not those of the
// product's own ids, so that clients of the service cannot slow down the chat.
type Service struct {
	deps      ServiceDeps
	snowflake *idgen.Snowflake
	sonyflake *idgen.Sonyflake
	readable  *idgen.Messages
	texts     *Texts
	store     *Tags
	segments  *Segments
	primaries *MultiPrimary
	sequences *Sequences
	rules     *Rules
	redis     *Redis

	given atomic.Uint64

	mu   sync.Mutex // held while tags change
	tags atomic.Pointer[map[string]cachedTag]
}

// cachedTag is a tag with the time at which it was read.
type cachedTag struct {
	tag  Tag
	read time.Time
}

// tagTTL is how long a tag is cached. A node may issue ids of a tag for that long after another node deleted it.
const tagTTL = 10 * time.Second

// builtIn are the tags that the database must have, because their numbers are stored there.
var builtIn = []Tag{
	{Name: SchemeSegment, Scheme: SchemeSegment, Description: "small, increasing numbers, for clients without their own tag"},
	{Name: SchemeSequence, Scheme: SchemeSequence, Description: "a counter for each key, for clients without their own tag"},
	{Name: SchemeRule, Scheme: SchemeRule, Description: "an example of ids by a rule", Rule: Rule{Prefix: "RULE-", Date: "YYYYMMDD", Digits: 9}},
}

// NewService creates the generators, and missing built-in tags.
func NewService(ctx context.Context, deps ServiceDeps, config ServiceConfig) (_ *Service, err error) {
	s := &Service{deps: deps, texts: NewTexts(deps.Clock)}
	s.tags.Store(&map[string]cachedTag{})
	counting := CounterDeps{DB: deps.DB, Clock: deps.Clock, Logger: deps.Logger}
	if s.store, err = NewTags(ctx, counting); err != nil {
		return nil, err
	}
	tags := builtIn
	if deps.Redis != "" {
		tags = append(slices.Clone(tags), Tag{Name: SchemeRedis, Scheme: SchemeRedis, Description: "increments of a Redis server, for clients without their own tag"})
	}
	for _, t := range tags {
		_, err := s.store.GetTag(ctx, t.Name)
		if errs.Is(err, errs.NotFound) {
			_, err = s.store.PutTag(ctx, t)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := s.lease(ctx); err != nil {
		return nil, err
	}
	if s.segments, err = NewSegments(ctx, counting, SegmentsConfig{}); err != nil {
		return nil, err
	}
	if s.rules, err = NewRules(ctx, counting, RulesConfig{}); err != nil {
		return nil, err
	}
	if s.sequences, err = NewSequences(ctx, counting, SequencesConfig{Node: config.Node, Exclusive: config.Exclusive}); err != nil {
		return nil, err
	}
	if s.redis, err = NewRedis(ctx, counting, deps.Redis); err != nil {
		return nil, err
	}
	if s.primaries, err = NewMultiPrimary(ctx, deps.primaries(), MultiPrimaryConfig{}); err != nil {
		return nil, err
	}
	return s, nil
}

// lease leases all worker ids concurrently, so that one transaction stores them.
func (s *Service) lease(ctx context.Context) error {
	return runAll(
		func() (err error) {
			s.snowflake, err = idgen.NewSnowflake(ctx, s.deps.Leases, idgen.SnowflakeConfig{})
			return err
		},
		func() (err error) {
			s.sonyflake, err = idgen.NewSonyflake(ctx, s.deps.Leases, idgen.SonyflakeConfig{})
			return err
		},
		func() (err error) {
			s.readable, err = idgen.NewMessages(ctx, s.deps.Leases, idgen.MessagesConfig{})
			return err
		})
}

// runAll runs parts concurrently and joins their errors.
func runAll(parts ...func() error) error {
	failures := make([]error, len(parts))
	var wait sync.WaitGroup
	for i, run := range parts {
		wait.Go(func() { failures[i] = run() })
	}
	wait.Wait()
	return errors.Join(failures...)
}

func (d ServiceDeps) primaries() MultiPrimaryDeps {
	if len(d.Primaries) > 0 {
		return MultiPrimaryDeps{Stores: d.Primaries, Home: d.DB, Logger: d.Logger}
	}
	return MultiPrimaryDeps{Stores: []Records{d.DB}, Logger: d.Logger}
}

// Run fetches ranges and renews leases until ctx ends. The worker leases have a Run of their own.
func (s *Service) Run(ctx context.Context) error {
	return runAll(func() error { return s.segments.Run(ctx) }, func() error { return s.sequences.Run(ctx) }, func() error { return s.primaries.Run(ctx) },
		func() error { return s.redis.Run(ctx) })
}

// Next returns ids of a tag.
func (s *Service) Next(ctx context.Context, r *idv1.NextRequest) (*idv1.NextResponse, error) {
	if r.Count < 1 || r.Count > maxBatch {
		return nil, errBadBatch()
	}
	t, err := s.lookupTag(ctx, r.Tag)
	if err != nil {
		return nil, err
	}
	out, err := s.next(ctx, t, r)
	if err == nil {
		s.given.Add(uint64(r.Count))
	}
	if errs.Is(err, errs.NotFound) { // another node deleted it
		s.dropTag(r.Tag)
	}
	return out, err
}

func (s *Service) next(ctx context.Context, t Tag, r *idv1.NextRequest) (_ *idv1.NextResponse, err error) {
	n := int(r.Count)
	out := &idv1.NextResponse{}
	switch t.Scheme {
	case SchemeUUIDv7, SchemeULID:
		out.Texts, err = s.texts.Next(t.Scheme, n)
		return out, err
	case SchemeReadable:
		out.Texts, err = s.nextReadable(n, r)
		return out, err
	case SchemeRule:
		out.Texts, err = s.rules.Next(ctx, t.Name, n)
		return out, err
	}
	out.Numbers = make([]uint64, n)
	switch t.Scheme {
	case SchemeSnowflake:
		err = s.snowflake.Fill(ctx, out.Numbers)
	case SchemeSonyflake:
		err = s.sonyflake.Fill(ctx, out.Numbers)
	case SchemeSegment:
		err = s.segments.Fill(ctx, t.Name, out.Numbers)
	case SchemeMultiPrimary:
		err = s.primaries.Fill(ctx, t.Name, out.Numbers)
	case SchemeRedis:
		err = s.redis.Fill(ctx, t, out.Numbers)
	case SchemeSequence:
		err = s.count(ctx, t.Name, r.Key, out.Numbers)
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// count returns the next numbers of a key.
func (s *Service) count(ctx context.Context, tag string, key uint64, dst []uint64) error {
	q, err := s.sequences.Of(ctx, tag)
	if err != nil {
		return err
	}
	first, err := q.NextN(ctx, key, len(dst))
	for i := range dst {
		dst[i] = first + uint64(i)
	}
	return err
}

// nextReadable returns readable ids of a conversation.
func (s *Service) nextReadable(n int, r *idv1.NextRequest) ([]string, error) {
	list := make([]string, n)
	for i := range list {
		m, err := s.readable.Next(uint8(min(r.Type, 255)), id.Conversation(r.Key))
		if err != nil {
			return nil, err
		}
		list[i] = m.String()
	}
	return list, nil
}

// Given returns the number of ids issued since the start.
func (s *Service) Given() uint64 { return s.given.Load() }

// YearsLeft returns the years until the time of a scheme has no more bits.
func (s *Service) YearsLeft() float64 {
	return min(s.snowflake.YearsLeft(), s.sonyflake.YearsLeft(), s.readable.YearsLeft())
}

// lookupTag returns a tag, from the cache if it is recent. If the database does not answer, an older one is used.
func (s *Service) lookupTag(ctx context.Context, name string) (Tag, error) {
	if slices.Contains(Schemes(), name) {
		return Tag{Name: name, Scheme: name}, nil
	}
	now := s.deps.Clock.Now()
	k, ok := (*s.tags.Load())[name]
	if age := now.Sub(k.read); ok && age >= 0 && age < tagTTL {
		return k.tag, nil
	}
	t, err := s.store.GetTag(ctx, name)
	switch {
	case err == nil:
		s.cacheTag(cachedTag{t, now})
		return t, nil
	case errs.Is(err, errs.NotFound):
		if ok {
			s.dropTag(name)
		}
		return Tag{}, err
	case ok:
		k.read = now
		s.cacheTag(k)
		return k.tag, nil
	}
	return Tag{}, err
}

// cacheTag caches a tag. The cache has no more tags than the database.
func (s *Service) cacheTag(k cachedTag) {
	s.mu.Lock()
	defer s.mu.Unlock()
	tags := maps.Clone(*s.tags.Load())
	tags[k.tag.Name] = k
	s.tags.Store(&tags)
}

// dropTag drops the cached tag and the reserved numbers of a deleted tag.
func (s *Service) dropTag(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	tags := maps.Clone(*s.tags.Load())
	delete(tags, name)
	s.tags.Store(&tags)
	s.segments.Forget(name)
	s.rules.Forget(name)
}

// PutTag creates or changes a tag, and returns what is stored.
func (s *Service) PutTag(ctx context.Context, t *idv1.Tag) (*idv1.Tag, error) {
	if err := rejectBuiltIn(t.GetName()); err != nil {
		return nil, err
	}
	stored, err := s.store.PutTag(ctx, Tag{Name: t.GetName(), Scheme: t.GetScheme(), Description: t.GetDescription(), Step: t.GetStep(), Maximum: t.GetMaximum(), SectionKeys: t.GetSectionKeys(), Last: t.GetLast(),
		Rule: Rule{Prefix: t.GetRule().GetPrefix(), Date: t.GetRule().GetDate(), Zone: t.GetRule().GetZone(), Digits: int(t.GetRule().GetDigits())}})
	if err != nil {
		return nil, err
	}
	s.cacheTag(cachedTag{stored, s.deps.Clock.Now()})
	return tagOf(stored), nil
}

// rejectBuiltIn rejects the names of built-in tags.
func rejectBuiltIn(name string) error {
	if slices.Contains(Schemes(), name) {
		return errs.New(errs.Denied, "built_in_tag", "the tag "+strconv.Quote(name)+" is built in and cannot be changed; choose another name")
	}
	return nil
}

// GetTag returns a tag.
func (s *Service) GetTag(ctx context.Context, name string) (*idv1.Tag, error) {
	t, err := s.store.GetTag(ctx, name)
	if errs.Is(err, errs.NotFound) && rejectBuiltIn(name) != nil { // built-in tags without numbers are not in the database
		t, err = Tag{Name: name, Scheme: name}, nil
	}
	if err != nil {
		return nil, err
	}
	return tagOf(t), nil
}

// ListTags returns a page of tags by name.
func (s *Service) ListTags(ctx context.Context, r *idv1.ListTagsRequest) (*idv1.ListTagsResponse, error) {
	limit := 50
	if r.Limit > 0 {
		limit = int(min(r.Limit, 200))
	}
	stored, err := s.store.ListTags(ctx, r.Page, limit+1)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, t := range stored {
		seen[t.Name] = true
	}
	for _, name := range Schemes() {
		if name > r.Page && !seen[name] && (name != SchemeRedis || s.deps.Redis != "") {
			stored = append(stored, Tag{Name: name, Scheme: name})
		}
	}
	slices.SortFunc(stored, func(a, b Tag) int { return cmp.Compare(a.Name, b.Name) })
	out := &idv1.ListTagsResponse{}
	for _, t := range stored[:min(limit, len(stored))] {
		out.Tags = append(out.Tags, tagOf(t))
	}
	if len(stored) > limit {
		out.Next = stored[limit-1].Name
	}
	return out, nil
}

// DeleteTag deletes a tag. It can be retried.
func (s *Service) DeleteTag(ctx context.Context, name string) (*idv1.DeleteTagResponse, error) {
	if err := rejectBuiltIn(name); err != nil {
		return nil, err
	}
	err := s.store.DeleteTag(ctx, name)
	if err != nil && !errs.Is(err, errs.NotFound) {
		return nil, err
	}
	s.dropTag(name)
	return &idv1.DeleteTagResponse{Deleted: err == nil}, nil
}

func tagOf(t Tag) *idv1.Tag {
	out := &idv1.Tag{Name: t.Name, Scheme: t.Scheme, Description: t.Description, Step: t.Step, Maximum: t.Maximum, SectionKeys: t.SectionKeys, Last: t.Last, BuiltIn: rejectBuiltIn(t.Name) != nil}
	if t.Scheme == SchemeRule {
		out.Rule = &idv1.Rule{Prefix: t.Rule.Prefix, Date: t.Rule.Date, Zone: t.Rule.Zone, Digits: uint32(t.Rule.Digits)}
	}
	return out
}
