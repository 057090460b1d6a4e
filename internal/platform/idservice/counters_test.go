package idservice_test

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/platform/idservice"
	"pgregory.net/rapid"
)

var errUnavailable = errors.New("the store is unavailable")

// breaking is a node's connection to a record store, which can fail.
type breaking struct {
	db          *sqldb.DB
	unavailable atomic.Bool // no statement reaches the store
	loseAnswers atomic.Bool // writes are stored, but their answers are lost
	writes      atomic.Int64
	before      func() // called while a write is in progress
	left        int    // writes until the store becomes unavailable; 0: it stays available
}

// leave makes the store unavailable after n more writes.
func (b *breaking) leave(n int) { b.left = n }

func (b *breaking) Migrate(ctx context.Context, owner string, steps []string) error {
	if b.unavailable.Load() {
		return errUnavailable
	}
	return b.db.Migrate(ctx, owner, steps)
}

func (b *breaking) Read() *sql.DB {
	if !b.unavailable.Load() {
		return b.db.Read()
	}
	closed, err := sql.Open("sqlite", "file::memory:")
	if err == nil {
		err = closed.Close()
	}
	if err != nil {
		panic(err)
	}
	return closed
}

func (b *breaking) Write(ctx context.Context, fn func(tx *sql.Tx) error) error {
	if b.unavailable.Load() {
		return errUnavailable
	}
	if before := b.before; before != nil {
		b.before = nil
		before()
	}
	b.writes.Add(1)
	if b.left > 0 {
		b.left--
		b.unavailable.Store(b.left == 0)
	}
	if err := b.db.Write(ctx, fn); err != nil {
		return err
	}
	if b.loseAnswers.Load() {
		return errUnavailable
	}
	return nil
}

// store opens an empty database.
func store(t testing.TB) *sqldb.DB {
	t.Helper()
	return database(t, sqltest.Place(t))
}

func database(t testing.TB, place string) *sqldb.DB {
	t.Helper()
	db, err := sqldb.Open(context.Background(), place)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// stepping is a clock that can be set back.
type stepping struct {
	mu   sync.Mutex // guards back
	back time.Duration
}

func (s *stepping) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().Add(-s.back)
}

func (s *stepping) step(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.back += d
}

// bubble runs a test on an empty store in fake time.
func bubble(t *testing.T, test func(t *testing.T, db *sqldb.DB)) {
	t.Helper()
	place := sqltest.Place(t)
	synctest.Test(t, func(t *testing.T) {
		db, err := sqldb.Open(context.Background(), place)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { // after the test's own cleanups
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
		test(t, db)
		// A query that is cancelled while it runs could hang: pgx sleeps then, and database/sql waits for a mutex, so that no time passes here.
		synctest.Wait()
	})
}

func counterDeps(db idservice.Records, c clock.Clock) idservice.CounterDeps {
	return idservice.CounterDeps{DB: db, Clock: c, Logger: slog.New(slog.DiscardHandler)}
}

// schedules runs a property test a number of times, or that share of COUNTER_SCHEDULES.
func schedules(t *testing.T, short int, share float64, property func(*rapid.T)) {
	t.Helper()
	checks := flag.Lookup("rapid.checks")
	before := checks.Value.String()
	defer func() {
		if err := checks.Value.Set(before); err != nil {
			t.Error(err)
		}
	}()
	n := short
	if long := os.Getenv("COUNTER_SCHEDULES"); long != "" {
		all, err := strconv.Atoi(long)
		if err != nil {
			t.Fatal(err)
		}
		n = int(float64(all) * share)
	}
	if err := checks.Value.Set(strconv.Itoa(n)); err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, property)
}

// fataler is a test, or a run of a property.
type fataler interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Context() context.Context
}

func put(t fataler, db idservice.Records, tags ...idservice.Tag) {
	t.Helper()
	all := tagsOf(t, db)
	for _, tag := range tags {
		if _, err := all.PutTag(t.Context(), tag); err != nil {
			t.Fatal(err)
		}
	}
}

func tagsOf(t fataler, db idservice.Records) *idservice.Tags {
	t.Helper()
	tags, err := idservice.NewTags(t.Context(), counterDeps(db, clock.System{}))
	if err != nil {
		t.Fatal(err)
	}
	return tags
}

// write runs one statement.
func write(t fataler, db *sqldb.DB, statement string) error {
	t.Helper()
	return db.Write(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.ExecContext(t.Context(), statement)
		return err
	})
}

func hasReason(err error, kind errs.Kind, reason string) bool {
	return errs.Is(err, kind) && errs.Of(err).Reason == reason
}

// Invalid tags are rejected with a reason, and nothing is stored.
func TestInvalidTagsAreRejected(t *testing.T) {
	db := store(t)
	tags, generators := tagsOf(t, db), segments(t, db, clock.System{}, 0)
	good := idservice.Rule{Prefix: "ORD", Date: "YYYYMMDD", Digits: 6}
	rule := func(change func(*idservice.Rule)) idservice.Tag {
		r := good
		change(&r)
		return idservice.Tag{Name: "a", Scheme: idservice.SchemeRule, Rule: r}
	}
	for name, tag := range map[string]idservice.Tag{
		"no name":            {Scheme: idservice.SchemeSegment},
		"a capital":          {Name: "A", Scheme: idservice.SchemeSegment},
		"a long name":        {Name: strings.Repeat("a", 65), Scheme: idservice.SchemeSegment},
		"no scheme":          {Name: "a"},
		"a list of schemes":  {Name: "a", Scheme: "snowflake, sonyflake"},
		"a long description": {Name: "a", Scheme: idservice.SchemeSegment, Description: strings.Repeat("鹅", 501)},
		"U+0000":             {Name: "a", Scheme: idservice.SchemeSegment, Description: "\x00"},
		"a long step":        {Name: "a", Scheme: idservice.SchemeSegment, Step: 10_000_001},
		"a 64-bit maximum":   {Name: "a", Scheme: idservice.SchemeSegment, Maximum: 1 << 63},
		"a segment's keys":   {Name: "a", Scheme: idservice.SchemeSegment, SectionKeys: 1000},
		"few keys":           {Name: "a", Scheme: idservice.SchemeSequence, SectionKeys: 999},
		"many keys":          {Name: "a", Scheme: idservice.SchemeSequence, SectionKeys: 1_000_001},
		"a rule's last":      {Name: "a", Scheme: idservice.SchemeRule, Rule: good, Last: 1},
		"a last too far":     {Name: "a", Scheme: idservice.SchemeSegment, Maximum: 9, Last: 10},
		"a segment's rule":   {Name: "a", Scheme: idservice.SchemeSegment, Rule: good},
		"no digits":          rule(func(r *idservice.Rule) { r.Digits = 0 }),
		"19 digits":          rule(func(r *idservice.Rule) { r.Digits = 19 }),
		"a date of a month":  rule(func(r *idservice.Rule) { r.Date = "YYYYMM" }),
		"a prefix with %":    rule(func(r *idservice.Rule) { r.Prefix = "%" }),
		"a long prefix":      rule(func(r *idservice.Rule) { r.Prefix = strings.Repeat("a", 33) }),
		"a zone of nowhere":  rule(func(r *idservice.Rule) { r.Zone = "Mars/Olympus" }),
		"the node's zone":    rule(func(r *idservice.Rule) { r.Zone = "Local" }),
	} {
		if _, err := tags.PutTag(t.Context(), tag); !hasReason(err, errs.Invalid, "bad_tag") {
			t.Errorf("%s: got %v, want bad_tag", name, err)
		}
	}
	for _, name := range []string{"a", "", "\x00", "\xff", "A", strings.Repeat("a", 65)} {
		if _, err := tags.GetTag(t.Context(), name); !hasReason(err, errs.NotFound, "no_tag") {
			t.Errorf("name %q: got %v", name, err)
		}
		if err := tags.DeleteTag(t.Context(), name); !hasReason(err, errs.NotFound, "no_tag") {
			t.Errorf("name %q: got %v", name, err)
		}
		if err := generators.Fill(t.Context(), name, make([]uint64, 1)); !hasReason(err, errs.NotFound, "no_tag") {
			t.Errorf("name %q: got %v", name, err)
		}
		if name == "a" || name == "" {
			continue
		}
		if _, err := tags.ListTags(t.Context(), name, 10); !hasReason(err, errs.Invalid, "bad_tag_page") {
			t.Errorf("page after %q: got %v", name, err)
		}
	}
	for _, limit := range []int{0, -1, 1001} {
		if _, err := tags.ListTags(t.Context(), "", limit); !hasReason(err, errs.Invalid, "bad_tag_page") {
			t.Errorf("page of %d tags: got %v", limit, err)
		}
	}
}

// Tags are stored as they were put, and listed in pages; their fixed properties do not change, even by a deletion.
func TestTagsAreStoredAndListed(t *testing.T) {
	tags := tagsOf(t, store(t))
	ctx := t.Context()
	want := []idservice.Tag{
		{Name: "a", Scheme: idservice.SchemeSegment, Description: "鹅 %", Step: 1000, Maximum: 1<<63 - 1},
		{Name: "b", Scheme: idservice.SchemeSequence, Step: 10_000, Maximum: 1<<63 - 1, SectionKeys: 100_000},
		{Name: "c", Scheme: idservice.SchemeRule, Step: 100, Maximum: 1<<63 - 1, Rule: idservice.Rule{Prefix: "C", Date: "YYMMDD", Zone: "Asia/Tokyo", Digits: 18}},
	}
	for _, tag := range want {
		given := idservice.Tag{Name: tag.Name, Scheme: tag.Scheme, Description: tag.Description, Rule: tag.Rule}
		if got, err := tags.PutTag(ctx, given); err != nil || got != tag {
			t.Fatalf("put %+v: got %+v, %v", given, got, err)
		}
	}
	after := ""
	for _, tag := range want {
		page, err := tags.ListTags(ctx, after, 1)
		if err != nil || len(page) != 1 || page[0] != tag {
			t.Fatalf("page after %q: got %+v, %v", after, page, err)
		}
		if got, err := tags.GetTag(ctx, tag.Name); err != nil || got != tag {
			t.Fatalf("got tag %+v, %v", got, err)
		}
		after = tag.Name
	}
	changed := idservice.Tag{Name: "a", Scheme: idservice.SchemeSegment, Description: "other", Step: 7, Maximum: 9}
	if got, err := tags.PutTag(ctx, changed); err != nil || got != changed {
		t.Fatalf("got tag %+v, %v", got, err)
	}
	fixed := func() {
		t.Helper()
		for _, tag := range []idservice.Tag{
			{Name: "a", Scheme: idservice.SchemeSnowflake},
			{Name: "b", Scheme: idservice.SchemeSequence, SectionKeys: 50_000},
			{Name: "c", Scheme: idservice.SchemeRule, Rule: idservice.Rule{Prefix: "C", Date: "YYMMDD", Zone: "Asia/Tokyo", Digits: 17}},
		} {
			if _, err := tags.PutTag(ctx, tag); !hasReason(err, errs.Conflict, "tag_fixed") {
				t.Errorf("put %+v: got %v", tag, err)
			}
		}
	}
	fixed()
	for _, tag := range want {
		if err := tags.DeleteTag(ctx, tag.Name); err != nil {
			t.Fatal(err)
		}
		if err := tags.DeleteTag(ctx, tag.Name); !hasReason(err, errs.NotFound, "no_tag") {
			t.Errorf("deleting it again: got %v", err)
		}
		if _, err := tags.GetTag(ctx, tag.Name); !hasReason(err, errs.NotFound, "no_tag") {
			t.Errorf("error %v, want the reason no_tag", err)
		}
	}
	if page, err := tags.ListTags(ctx, "", 10); err != nil || len(page) != 0 {
		t.Errorf("got page %+v, %v", page, err)
	}
	fixed()
}

// A tag is raised above numbers that were issued: the reserve of a segment is used first, and the owners of a sequence continue above.
func TestRaisingATagSkipsIssuedNumbers(t *testing.T) {
	db := store(t)
	ctx := t.Context()
	put(t, db, idservice.Tag{Name: "g", Scheme: idservice.SchemeSegment}, idservice.Tag{Name: "s", Scheme: idservice.SchemeSequence}, idservice.Tag{Name: "new", Scheme: idservice.SchemeSegment, Last: 500})
	n := newSeqNode(t, db, idservice.SequencesConfig{})
	if v, err := n.Next(ctx, 5); err != nil || v != 1 {
		t.Fatalf("got number %d, %v", v, err)
	}
	put(t, db, idservice.Tag{Name: "g", Scheme: idservice.SchemeSegment, Last: 5000}, idservice.Tag{Name: "s", Scheme: idservice.SchemeSequence, Last: 700_000})
	put(t, db, idservice.Tag{Name: "g", Scheme: idservice.SchemeSegment}, idservice.Tag{Name: "s", Scheme: idservice.SchemeSequence, Last: 7}) // never lowers
	if _, err := tagsOf(t, db).PutTag(ctx, idservice.Tag{Name: "g", Scheme: idservice.SchemeSegment, Maximum: 4999}); !hasReason(err, errs.Invalid, "bad_tag") {
		t.Errorf("error %v, want the reason bad_tag", err)
	}
	dst := make([]uint64, 1)
	for tag, want := range map[string]uint64{"g": 5001, "new": 501} {
		if err := segments(t, db, clock.System{}, 0).Fill(ctx, tag, dst); err != nil || dst[0] != want {
			t.Errorf("tag %s: got %d, %v", tag, dst[0], err)
		}
	}
	for _, node := range []*seqNode{n, newSeqNode(t, db, idservice.SequencesConfig{Exclusive: true})} {
		v, err := node.NextN(ctx, 5, 10_000) // beyond the bound that the node knows
		if err != nil || v < 700_001 {
			t.Errorf("got number %d, %v", v, err)
		}
		if v, err := node.Next(ctx, 999_999); err != nil || v < 700_001 {
			t.Errorf("another section: got %d, %v", v, err)
		}
	}
}

// No two tags can produce the same text, including deleted tags.
func TestNoTwoTagsProduceTheSameText(t *testing.T) {
	tags := tagsOf(t, store(t))
	ctx := t.Context()
	rule := func(name, prefix, date string, digits int) idservice.Tag {
		return idservice.Tag{Name: name, Scheme: idservice.SchemeRule, Rule: idservice.Rule{Prefix: prefix, Date: date, Digits: digits}}
	}
	for _, tag := range []idservice.Tag{rule("a", "A", "YYYYMMDD", 4), rule("b", "B", "YYYYMMDD", 4), rule("c", "A", "YYYYMMDD", 5)} {
		if _, err := tags.PutTag(ctx, tag); err != nil {
			t.Fatal(err)
		}
	}
	taken := func() {
		t.Helper()
		for _, tag := range []idservice.Tag{rule("d", "A", "YYYYMMDD", 4), rule("d", "A", "", 12), rule("d", "A2", "YYMMDD", 5), rule("d", "", "YYYYMMDD", 5)} {
			if _, err := tags.PutTag(ctx, tag); !hasReason(err, errs.Conflict, "rule_taken") {
				t.Errorf("rule %+v: got %v", tag.Rule, err)
			}
		}
	}
	taken()
	for _, name := range []string{"a", "b", "c"} {
		if err := tags.DeleteTag(ctx, name); err != nil {
			t.Fatal(err)
		}
	}
	taken()
}
