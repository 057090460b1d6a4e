package idgen

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

	idv1 "github.com/rialto-im/rialto/gen/rialto/id/v1"
	"github.com/rialto-im/rialto/internal/clock"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/id"
)

// ServiceDeps are what the service gives ids of.
type ServiceDeps struct {
	DB     Records
	Leases *Leases
	// Primaries of multi-primary ids, in their order; none: DB is the only one.
	Primaries []Records
	Clock     clock.Clock
	Logger    *slog.Logger
}

// Config of the id service.
type Config struct {
	// Primaries are the databases of multi-primary ids, each by itself: addresses as postgres://user@host/name, or files of SQLite.
	// All must answer at the first start; after that any one is enough. Default none: the records alone.
	Primaries []string `yaml:"primaries"`
}

// Check finds what cannot be.
func (c Config) Check() error {
	for i, where := range c.Primaries {
		if where == "" || slices.Contains(c.Primaries[:i], where) {
			return fmt.Errorf("ids.primaries are %d different databases", len(c.Primaries))
		}
	}
	if len(c.Primaries) > storesMost {
		return fmt.Errorf("ids.primaries are at most %d databases", storesMost)
	}
	return nil
}

// ServiceConfig of the service.
type ServiceConfig struct {
	// Node is this node's name.
	Node string
	// Own: the records belong to this process alone, which has locked them.
	Own bool
}

// Service gives ids by tags: the built-in ones, one for each scheme and named as it, and those that were put. Its generators are
// not those of the node's own records and messages: no customer of the service holds up a chat.
type Service struct {
	deps      ServiceDeps
	snowflake *Snowflake
	sonyflake *Sonyflake
	readable  *Messages
	texts     *Texts
	store     *Tags
	segments  *Segments
	primaries *MultiPrimary
	sequences *Sequences
	rules     *Rules

	given atomic.Uint64

	mu   sync.Mutex // held by those who change tags
	tags atomic.Pointer[map[string]known]
}

// known is a tag as it was read.
type known struct {
	tag  Tag
	read time.Time
}

// fresh is how long a tag that was read is not read again: so long may a node give ids of a tag that another deleted.
const fresh = 10 * time.Second

// builtIn tags that the records must have, because their numbers are there.
var builtIn = []Tag{
	{Name: SchemeSegment, Scheme: SchemeSegment, Description: "small, rising numbers, for all who need no tag of their own"},
	{Name: SchemeSequence, Scheme: SchemeSequence, Description: "a counter for each key, for all who need no tag of their own"},
	{Name: SchemeRule, Scheme: SchemeRule, Description: "an example of ids by a rule", Rule: Rule{Prefix: "RULE-", Date: "YYYYMMDD", Digits: 9}},
}

// NewService makes the generators, and the built-in tags where they are missing.
func NewService(ctx context.Context, deps ServiceDeps, config ServiceConfig) (_ *Service, err error) {
	s := &Service{deps: deps, texts: NewTexts(deps.Clock)}
	s.tags.Store(&map[string]known{})
	counting := CounterDeps{DB: deps.DB, Clock: deps.Clock, Logger: deps.Logger}
	if s.store, err = NewTags(ctx, counting); err != nil {
		return nil, err
	}
	for _, t := range builtIn {
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
	if s.sequences, err = NewSequences(ctx, counting, SequencesConfig{Node: config.Node, Own: config.Own}); err != nil {
		return nil, err
	}
	if s.primaries, err = NewMultiPrimary(ctx, deps.primaries(), MultiPrimaryConfig{}); err != nil {
		return nil, err
	}
	return s, nil
}

// lease leases all numbers side by side: they meet in one commit.
func (s *Service) lease(ctx context.Context) error {
	return together(
		func() (err error) {
			s.snowflake, err = NewSnowflake(ctx, s.deps.Leases, SnowflakeConfig{})
			return err
		},
		func() (err error) {
			s.sonyflake, err = NewSonyflake(ctx, s.deps.Leases, SonyflakeConfig{})
			return err
		},
		func() (err error) {
			s.readable, err = NewMessages(ctx, s.deps.Leases, MessagesConfig{})
			return err
		})
}

// together runs parts side by side, and gives what went wrong.
func together(parts ...func() error) error {
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

// Run fetches what will be needed and renews what is held, until ctx ends. The leases have a Run of their own.
func (s *Service) Run(ctx context.Context) error {
	return together(func() error { return s.segments.Run(ctx) }, func() error { return s.sequences.Run(ctx) }, func() error { return s.primaries.Run(ctx) })
}

// Next gives ids of a tag.
func (s *Service) Next(ctx context.Context, r *idv1.NextRequest) (*idv1.NextResponse, error) {
	if r.Count < 1 || r.Count > batchMost {
		return nil, badBatch()
	}
	t, err := s.find(ctx, r.Tag)
	if err != nil {
		return nil, err
	}
	out, err := s.next(ctx, t, r)
	if err == nil {
		s.given.Add(uint64(r.Count))
	}
	if errs.Is(err, errs.NotFound) { // another node deleted it
		s.forget(r.Tag)
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
		out.Texts, err = s.read(n, r)
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
	case SchemeSequence:
		err = s.count(ctx, t.Name, r.Key, out.Numbers)
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// count gives the next numbers of a key.
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

// read gives readable ids of a conversation.
func (s *Service) read(n int, r *idv1.NextRequest) ([]string, error) {
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

// Given is how many ids were given since the start.
func (s *Service) Given() uint64 { return s.given.Load() }

// YearsLeft until the time of one of the schemes has no more bits.
func (s *Service) YearsLeft() float64 {
	return min(s.snowflake.YearsLeft(), s.sonyflake.YearsLeft(), s.readable.YearsLeft())
}

// find gives a tag, as it was a moment ago. Where the records do not answer, what was known holds on.
func (s *Service) find(ctx context.Context, name string) (Tag, error) {
	if slices.Contains(Schemes(), name) {
		return Tag{Name: name, Scheme: name}, nil
	}
	now := s.deps.Clock.Now()
	k, ok := (*s.tags.Load())[name]
	if age := now.Sub(k.read); ok && age >= 0 && age < fresh {
		return k.tag, nil
	}
	t, err := s.store.GetTag(ctx, name)
	switch {
	case err == nil:
		s.keep(known{t, now})
		return t, nil
	case errs.Is(err, errs.NotFound):
		if ok {
			s.forget(name)
		}
		return Tag{}, err
	case ok:
		k.read = now
		s.keep(k)
		return k.tag, nil
	}
	return Tag{}, err
}

// keep remembers a tag. There are at most as many as the records hold.
func (s *Service) keep(k known) {
	s.mu.Lock()
	defer s.mu.Unlock()
	tags := maps.Clone(*s.tags.Load())
	tags[k.tag.Name] = k
	s.tags.Store(&tags)
}

// forget drops what this node knows and holds of a tag that was deleted.
func (s *Service) forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	tags := maps.Clone(*s.tags.Load())
	delete(tags, name)
	s.tags.Store(&tags)
	s.segments.Forget(name)
	s.rules.Forget(name)
}

// PutTag makes a tag, or changes one, and gives what is stored.
func (s *Service) PutTag(ctx context.Context, t *idv1.Tag) (*idv1.Tag, error) {
	if err := own(t.GetName()); err != nil {
		return nil, err
	}
	stored, err := s.store.PutTag(ctx, Tag{Name: t.GetName(), Scheme: t.GetScheme(), Description: t.GetDescription(), Step: t.GetStep(), Maximum: t.GetMaximum(), SectionKeys: t.GetSectionKeys(), Last: t.GetLast(),
		Rule: Rule{Prefix: t.GetRule().GetPrefix(), Date: t.GetRule().GetDate(), Zone: t.GetRule().GetZone(), Digits: int(t.GetRule().GetDigits())}})
	if err != nil {
		return nil, err
	}
	s.keep(known{stored, s.deps.Clock.Now()})
	return tagOf(stored), nil
}

// own refuses the names of built-in tags.
func own(name string) error {
	if slices.Contains(Schemes(), name) {
		return errs.New(errs.Denied, "built_in_tag", "the tag "+strconv.Quote(name)+" is built in, and stays as it is; take another name")
	}
	return nil
}

// GetTag gives one tag.
func (s *Service) GetTag(ctx context.Context, name string) (*idv1.Tag, error) {
	t, err := s.store.GetTag(ctx, name)
	if errs.Is(err, errs.NotFound) && own(name) != nil { // the records know nothing of those that need none
		t, err = Tag{Name: name, Scheme: name}, nil
	}
	if err != nil {
		return nil, err
	}
	return tagOf(t), nil
}

// ListTags gives a page of tags by name.
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
		if name > r.Page && !seen[name] {
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

// DeleteTag ends a tag. A retry is harmless.
func (s *Service) DeleteTag(ctx context.Context, name string) (*idv1.DeleteTagResponse, error) {
	if err := own(name); err != nil {
		return nil, err
	}
	err := s.store.DeleteTag(ctx, name)
	if err != nil && !errs.Is(err, errs.NotFound) {
		return nil, err
	}
	s.forget(name)
	return &idv1.DeleteTagResponse{Deleted: err == nil}, nil
}

func tagOf(t Tag) *idv1.Tag {
	out := &idv1.Tag{Name: t.Name, Scheme: t.Scheme, Description: t.Description, Step: t.Step, Maximum: t.Maximum, SectionKeys: t.SectionKeys, Last: t.Last, BuiltIn: own(t.Name) != nil}
	if t.Scheme == SchemeRule {
		out.Rule = &idv1.Rule{Prefix: t.Rule.Prefix, Date: t.Rule.Date, Zone: t.Rule.Zone, Digits: uint32(t.Rule.Digits)}
	}
	return out
}
