package idgen

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/clock"
	"github.com/rialto-im/rialto/internal/errs"
)

// RulesConfig of the days.
type RulesConfig struct {
	// BackMost is how far the clock may step back and the day stay as it was. Beyond that the day is the clock's, and its numbers
	// go on where they were. 0: 1 hour.
	BackMost time.Duration
}

// Rules gives ids by rules, in ranges per day from the record store, where each day of a tag has a counter of its own: whatever
// a clock says, and however many nodes say another, no id is given twice. All methods may be called from many goroutines.
type Rules struct {
	store  counters
	clock  clock.Clock
	logger *slog.Logger
	back   time.Duration

	mu   sync.Mutex // guards what is below
	tags map[string]*days
	high time.Time // the latest that the clock has said
}

// days are what this node holds of a tag, used by the one who has the turn.
type days struct {
	tag  string
	rule Rule
	zone *time.Location
	turn *turn

	date  string
	spans []span // numbers of that date
}

type span struct{ first, n uint64 }

// NewRules makes the tables where they are missing.
func NewRules(ctx context.Context, deps CounterDeps, config RulesConfig) (*Rules, error) {
	store, err := openCounters(ctx, deps.DB)
	r := &Rules{store: store, clock: deps.Clock, logger: deps.Logger, back: config.BackMost, tags: map[string]*days{}}
	if r.back == 0 {
		r.back = time.Hour
	}
	return r, err
}

// batchMost bounds the ids of one call.
const batchMost = 10_000

func badBatch() error {
	return errs.New(errs.Invalid, "bad_batch", "ask for 1 to 10,000 ids at once")
}

// Next gives n ids of a tag, rising, all of one day. Exhausted: the digits do not have so many more numbers on this day; what
// they have is still given to those who ask for fewer.
func (r *Rules) Next(ctx context.Context, tag string, n int) ([]string, error) {
	if n < 1 || n > batchMost {
		return nil, badBatch()
	}
	d, err := r.of(ctx, tag)
	if err != nil {
		return nil, err
	}
	var ids []string
	take := func() bool {
		d.turnTo(r.now())
		ids = d.take(n)
		return ids != nil
	}
	err = d.turn.do(ctx, func() bool { return !take() }, func(ctx context.Context) error {
		day, want := dayNumber(d.date), uint64(n)-d.held()
		first, got, err := r.store.takeDay(ctx, tag, day, want)
		if err != nil {
			return err
		}
		d.spans = append(d.spans, span{first, got})
		if ids = d.take(n); ids == nil {
			return usedUp("the tag " + tag + " has fewer than " + strconv.Itoa(n) + " numbers left on this day; ask for fewer")
		}
		return nil
	})
	return ids, err
}

// Forget drops what this node holds of a tag. It is for a tag that was deleted.
func (r *Rules) Forget(tag string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.tags, tag)
}

func (r *Rules) of(ctx context.Context, tag string) (*days, error) {
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
		r.tags[tag] = &days{tag: tag, rule: t.Rule, zone: zone, turn: newTurn()}
	}
	return r.tags[tag], nil
}

// now is the clock's time, or the latest that it has said if it stepped back a little.
func (r *Rules) now() time.Time {
	now := r.clock.Now().Round(0) // the wall clock's, which steps
	r.mu.Lock()
	defer r.mu.Unlock()
	back := r.high.Sub(now)
	switch {
	case back <= 0:
	case back <= r.back:
		return r.high
	default:
		r.logger.Warn("the clock stepped back; ids by rules take its date", "back", back)
	}
	r.high = now
	return now
}

// turnTo has d give numbers of a date. What is left of another is never given.
func (d *days) turnTo(now time.Time) {
	if date := now.In(d.zone).Format(layouts[d.rule.Date]); date != d.date {
		d.date, d.spans = date, nil
	}
}

// dayNumber is the date's digits: where years have two, the same day of the next century goes on with its numbers.
func dayNumber(date string) int64 {
	n, _ := strconv.ParseInt(strings.ReplaceAll(date, "-", ""), 10, 64) // "" is 0
	return n
}

func (d *days) held() (n uint64) {
	for _, s := range d.spans {
		n += s.n
	}
	return n
}

// take gives n ids, or nil and leaves all as it was.
func (d *days) take(n int) []string {
	if d.held() < uint64(n) {
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

// tag reads a tag of a scheme, or of any.
func (c counters) tag(ctx context.Context, name, scheme string) (Tag, error) {
	if !tagName.MatchString(name) {
		return Tag{}, noTag(name)
	}
	t, deleted, err := scanTag(c.db.Read().QueryRowContext(ctx, `SELECT `+tagColumns+` FROM id_tags WHERE name = $1`, name))
	return live(t, deleted, err, name, scheme)
}

// live is what is said of a tag that was read.
func live(t Tag, deleted bool, err error, name, scheme string) (Tag, error) {
	switch {
	case errors.Is(err, sql.ErrNoRows), err == nil && deleted:
		return t, noTag(name)
	case err != nil:
		return t, errs.Wrap(errs.Unavailable, "ids_unavailable", noStore, err)
	case scheme != "" && t.Scheme != scheme:
		return t, badTag("the tag " + strconv.Quote(name) + " is of the scheme " + t.Scheme + ", not " + scheme)
	}
	return t, nil
}
