package idservice

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/errs"
)

// RulesConfig configures the handling of days.
type RulesConfig struct {
	// MaxStepBack is how far the clock may step back without changing the day. Beyond it the day follows the clock, and the day's numbers
	// continue where they stopped. 0: 1 hour.
	MaxStepBack time.Duration
}

// Rules issues ids by rules, from ranges per day that are reserved in the record store, where each day of a tag has its own counter:
// whatever the clocks of the nodes say, no id is issued twice. All methods are safe for concurrent use.
type Rules struct {
	store       counters
	clock       clock.Clock
	logger      *slog.Logger
	maxStepBack time.Duration

	mu     sync.Mutex // guards the fields below
	tags   map[string]*dayNumbers
	latest time.Time // the latest time of the clock
}

// dayNumbers are the numbers that this node has reserved for a tag. Only the holder of the single flight uses them.
type dayNumbers struct {
	tag    string
	rule   Rule
	zone   *time.Location
	refill *singleFlight

	date  string
	spans []span // numbers of that date
}

type span struct{ first, n uint64 }

// NewRules creates missing tables.
func NewRules(ctx context.Context, deps CounterDeps, config RulesConfig) (*Rules, error) {
	store, err := openCounters(ctx, deps.DB)
	r := &Rules{store: store, clock: deps.Clock, logger: deps.Logger, maxStepBack: config.MaxStepBack, tags: map[string]*dayNumbers{}}
	if r.maxStepBack == 0 {
		r.maxStepBack = time.Hour
	}
	return r, err
}

// maxBatch bounds the ids of one call.
const maxBatch = 10_000

func errBadBatch() error {
	return errs.New(errs.Invalid, "bad_batch", "ask for 1 to 10,000 ids at once")
}

// Next returns n ids of a tag, increasing, all of one day. Exhausted: the day does not have n more numbers; callers that ask for fewer
// may still get some.
func (r *Rules) Next(ctx context.Context, tag string, n int) ([]string, error) {
	if n < 1 || n > maxBatch {
		return nil, errBadBatch()
	}
	d, err := r.of(ctx, tag)
	if err != nil {
		return nil, err
	}
	var ids []string
	take := func() bool {
		d.setDate(r.now())
		ids = d.take(n)
		return ids != nil
	}
	err = d.refill.do(ctx, func() bool { return !take() }, func(ctx context.Context) error {
		day, want := dayNumber(d.date), uint64(n)-d.remaining()
		first, got, err := r.store.reserveDay(ctx, tag, day, want)
		if err != nil {
			return err
		}
		d.spans = append(d.spans, span{first, got})
		if ids = d.take(n); ids == nil {
			return errUsedUp("the tag " + tag + " has fewer than " + strconv.Itoa(n) + " numbers left on this day; ask for fewer")
		}
		return nil
	})
	return ids, err
}

// Forget drops what this node has reserved for a deleted tag.
func (r *Rules) Forget(tag string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.tags, tag)
}

func (r *Rules) of(ctx context.Context, tag string) (*dayNumbers, error) {
	r.mu.Lock()
	d := r.tags[tag]
	r.mu.Unlock()
	if d != nil {
		return d, nil
	}
	t, err := r.store.tag(ctx, tag, SchemeRule)
	if err != nil {
		return nil, err
	}
	zone, err := t.Rule.location()
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tags[tag] == nil {
		r.tags[tag] = &dayNumbers{tag: tag, rule: t.Rule, zone: zone, refill: newSingleFlight()}
	}
	return r.tags[tag], nil
}

// now returns the clock's time, or its latest time if it stepped back a little.
func (r *Rules) now() time.Time {
	now := r.clock.Now().Round(0) // the wall clock, which may step
	r.mu.Lock()
	defer r.mu.Unlock()
	back := r.latest.Sub(now)
	switch {
	case back <= 0:
	case back <= r.maxStepBack:
		return r.latest
	default:
		r.logger.Warn("the clock stepped back; ids by rules take its date", "back", back)
	}
	r.latest = now
	return now
}

// setDate switches d to the date of now. Unused numbers of another date are never issued.
func (d *dayNumbers) setDate(now time.Time) {
	if date := now.In(d.zone).Format(layouts[d.rule.Date]); date != d.date {
		d.date, d.spans = date, nil
	}
}

// dayNumber returns the date's digits. With two-digit years, the same day of the next century continues the numbers.
func dayNumber(date string) int64 {
	n, _ := strconv.ParseInt(strings.ReplaceAll(date, "-", ""), 10, 64) // "" is 0
	return n
}

func (d *dayNumbers) remaining() (n uint64) {
	for _, s := range d.spans {
		n += s.n
	}
	return n
}

// take returns n ids; or nil, and changes nothing.
func (d *dayNumbers) take(n int) []string {
	if d.remaining() < uint64(n) {
		return nil
	}
	ids := make([]string, 0, n)
	var text []byte
	for len(ids) < n {
		s := &d.spans[0]
		text = d.rule.Append(text[:0], d.date, s.first)
		ids = append(ids, string(text))
		s.first++
		if s.n--; s.n == 0 {
			d.spans = d.spans[1:]
		}
	}
	return ids
}

// tag reads a tag of a scheme, or of any scheme.
func (c counters) tag(ctx context.Context, name, scheme string) (Tag, error) {
	if !tagName.MatchString(name) {
		return Tag{}, errNoTag(name)
	}
	t, deleted, err := scanTag(c.db.Read().QueryRowContext(ctx, `SELECT `+tagColumns+` FROM id_tags WHERE name = $1`, name))
	return checkLive(t, deleted, err, name, scheme)
}

// checkLive returns a tag that was read, or an error if it does not exist, was deleted, or has another scheme.
func checkLive(t Tag, deleted bool, err error, name, scheme string) (Tag, error) {
	switch {
	case errors.Is(err, sql.ErrNoRows), err == nil && deleted:
		return t, errNoTag(name)
	case err != nil:
		return t, errs.Wrap(errs.Unavailable, "ids_unavailable", noStore, err)
	case scheme != "" && t.Scheme != scheme:
		return t, errBadTag("the tag " + strconv.Quote(name) + " is of the scheme " + t.Scheme + ", not " + scheme)
	}
	return t, nil
}
