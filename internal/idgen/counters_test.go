package idgen_test

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/rialto-im/rialto/internal/clock"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/idgen"
	"github.com/rialto-im/rialto/internal/sqldb"
	"github.com/rialto-im/rialto/internal/sqldb/sqltest"
	"pgregory.net/rapid"
)

var errAway = errors.New("the store is away")

// breaking is a node's way to a record store, which can break.
type breaking struct {
	db     *sqldb.DB
	away   atomic.Bool // nothing comes through
	mute   atomic.Bool // what is written is stored, and the answer is lost
	writes atomic.Int64
	before func() // something happens while a write is on its way
	left   int    // writes until it goes away; 0: it stays
}

// leave has the store go away after n more writes.
func (b *breaking) leave(n int) { b.left = n }

func (b *breaking) Migrate(ctx context.Context, room string, steps []string) error {
	if b.away.Load() {
		return errAway
	}
	return b.db.Migrate(ctx, room, steps)
}

func (b *breaking) Read() *sql.DB {
	if !b.away.Load() {
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
	if b.away.Load() {
		return errAway
	}
	if before := b.before; before != nil {
		b.before = nil
		before()
	}
	b.writes.Add(1)
	if b.left > 0 {
		b.left--
		b.away.Store(b.left == 0)
	}
	if err := b.db.Write(ctx, fn); err != nil {
		return err
	}
	if b.mute.Load() {
		return errAway
	}
	return nil
}

// store opens an empty one.
func store(t testing.TB) *sqldb.DB {
	t.Helper()
	db, err := sqldb.Open(t.Context(), sqltest.Place(t))
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

// bubble runs a test on an empty store in faked time.
func bubble(t *testing.T, test func(t *testing.T, db *sqldb.DB)) {
	t.Helper()
	place := sqltest.Place(t)
	synctest.Test(t, func(t *testing.T) {
		db, err := sqldb.Open(context.Background(), place)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { // after those of the test
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
		test(t, db)
	})
}

func counterDeps(db idgen.Records, c clock.Clock) idgen.CounterDeps {
	return idgen.CounterDeps{DB: db, Clock: c, Logger: slog.New(slog.DiscardHandler)}
}

// schedules tries a property so often, or with COUNTER_SCHEDULES, a number, so many times that share of it.
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

// fataler is a test, or a try of a property.
type fataler interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Context() context.Context
}

func put(t fataler, db idgen.Records, tags ...idgen.Tag) {
	t.Helper()
	all := tagsOf(t, db)
	for _, tag := range tags {
		if _, err := all.PutTag(t.Context(), tag); err != nil {
			t.Fatal(err)
		}
	}
}

func tagsOf(t fataler, db idgen.Records) *idgen.Tags {
	t.Helper()
	tags, err := idgen.NewTags(t.Context(), counterDeps(db, clock.System{}))
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

// TestATagIsBounded: what cannot be is refused with a reason, and nothing is stored.
func TestATagIsBounded(t *testing.T) {
	db := store(t)
	tags, generators := tagsOf(t, db), segments(t, db, clock.System{}, 0)
	good := idgen.Rule{Prefix: "ORD", Date: "YYYYMMDD", Digits: 6}
	rule := func(change func(*idgen.Rule)) idgen.Tag {
		r := good
		change(&r)
		return idgen.Tag{Name: "a", Scheme: idgen.SchemeRule, Rule: r}
	}
	for name, tag := range map[string]idgen.Tag{
		"no name":            {Scheme: idgen.SchemeSegment},
		"a capital":          {Name: "A", Scheme: idgen.SchemeSegment},
		"a long name":        {Name: strings.Repeat("a", 65), Scheme: idgen.SchemeSegment},
		"no scheme":          {Name: "a"},
		"a list of schemes":  {Name: "a", Scheme: "snowflake, sonyflake"},
		"a long description": {Name: "a", Scheme: idgen.SchemeSegment, Description: strings.Repeat("鹅", 501)},
		"U+0000":             {Name: "a", Scheme: idgen.SchemeSegment, Description: "\x00"},
		"a long step":        {Name: "a", Scheme: idgen.SchemeSegment, Step: 10_000_001},
		"a 64-bit maximum":   {Name: "a", Scheme: idgen.SchemeSegment, Maximum: 1 << 63},
		"a segment's keys":   {Name: "a", Scheme: idgen.SchemeSegment, SectionKeys: 1000},
		"few keys":           {Name: "a", Scheme: idgen.SchemeSequence, SectionKeys: 999},
		"many keys":          {Name: "a", Scheme: idgen.SchemeSequence, SectionKeys: 1_000_001},
		"a rule's last":      {Name: "a", Scheme: idgen.SchemeRule, Rule: good, Last: 1},
		"a last too far":     {Name: "a", Scheme: idgen.SchemeSegment, Maximum: 9, Last: 10},
		"a segment's rule":   {Name: "a", Scheme: idgen.SchemeSegment, Rule: good},
		"no digits":          rule(func(r *idgen.Rule) { r.Digits = 0 }),
		"19 digits":          rule(func(r *idgen.Rule) { r.Digits = 19 }),
		"a date of a month":  rule(func(r *idgen.Rule) { r.Date = "YYYYMM" }),
		"a prefix with %":    rule(func(r *idgen.Rule) { r.Prefix = "%" }),
		"a long prefix":      rule(func(r *idgen.Rule) { r.Prefix = strings.Repeat("a", 33) }),
		"a zone of nowhere":  rule(func(r *idgen.Rule) { r.Zone = "Mars/Olympus" }),
		"the node's zone":    rule(func(r *idgen.Rule) { r.Zone = "Local" }),
	} {
		if _, err := tags.PutTag(t.Context(), tag); !hasReason(err, errs.Invalid, "bad_tag") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"a", "", "\x00", "\xff", "A", strings.Repeat("a", 65)} {
		if _, err := tags.GetTag(t.Context(), name); !hasReason(err, errs.NotFound, "no_tag") {
			t.Errorf("%q: %v", name, err)
		}
		if err := tags.DeleteTag(t.Context(), name); !hasReason(err, errs.NotFound, "no_tag") {
			t.Errorf("%q: %v", name, err)
		}
		if err := generators.Fill(t.Context(), name, make([]uint64, 1)); !hasReason(err, errs.NotFound, "no_tag") {
			t.Errorf("%q: %v", name, err)
		}
		if name == "a" || name == "" {
			continue
		}
		if _, err := tags.ListTags(t.Context(), name, 10); !hasReason(err, errs.Invalid, "bad_tag_page") {
			t.Errorf("after %q: %v", name, err)
		}
	}
	for _, limit := range []int{0, -1, 1001} {
		if _, err := tags.ListTags(t.Context(), "", limit); !hasReason(err, errs.Invalid, "bad_tag_page") {
			t.Errorf("a page of %d: %v", limit, err)
		}
	}
}

// TestTagsAreKept: as they were put, in pages, and what never changes does not, also through a deletion.
func TestTagsAreKept(t *testing.T) {
	tags := tagsOf(t, store(t))
	ctx := t.Context()
	want := []idgen.Tag{
		{Name: "a", Scheme: idgen.SchemeSegment, Description: "鹅 %", Step: 1000, Maximum: 1<<63 - 1},
		{Name: "b", Scheme: idgen.SchemeSequence, Step: 10_000, Maximum: 1<<63 - 1, SectionKeys: 100_000},
		{Name: "c", Scheme: idgen.SchemeRule, Step: 100, Maximum: 1<<63 - 1, Rule: idgen.Rule{Prefix: "C", Date: "YYMMDD", Zone: "Asia/Tokyo", Digits: 18}},
	}
	for _, tag := range want {
		given := idgen.Tag{Name: tag.Name, Scheme: tag.Scheme, Description: tag.Description, Rule: tag.Rule}
		if got, err := tags.PutTag(ctx, given); err != nil || got != tag {
			t.Fatalf("%+v became %+v: %v", given, got, err)
		}
	}
	after := ""
	for _, tag := range want {
		page, err := tags.ListTags(ctx, after, 1)
		if err != nil || len(page) != 1 || page[0] != tag {
			t.Fatalf("after %q: %+v, %v", after, page, err)
		}
		if got, err := tags.GetTag(ctx, tag.Name); err != nil || got != tag {
			t.Fatalf("%+v, %v", got, err)
		}
		after = tag.Name
	}
	changed := idgen.Tag{Name: "a", Scheme: idgen.SchemeSegment, Description: "other", Step: 7, Maximum: 9}
	if got, err := tags.PutTag(ctx, changed); err != nil || got != changed {
		t.Fatalf("%+v, %v", got, err)
	}
	fixed := func() {
		t.Helper()
		for _, tag := range []idgen.Tag{
			{Name: "a", Scheme: idgen.SchemeSnowflake},
			{Name: "b", Scheme: idgen.SchemeSequence, SectionKeys: 50_000},
			{Name: "c", Scheme: idgen.SchemeRule, Rule: idgen.Rule{Prefix: "C", Date: "YYMMDD", Zone: "Asia/Tokyo", Digits: 17}},
		} {
			if _, err := tags.PutTag(ctx, tag); !hasReason(err, errs.Conflict, "tag_fixed") {
				t.Errorf("%+v: %v", tag, err)
			}
		}
	}
	fixed()
	for _, tag := range want {
		if err := tags.DeleteTag(ctx, tag.Name); err != nil {
			t.Fatal(err)
		}
		if err := tags.DeleteTag(ctx, tag.Name); !hasReason(err, errs.NotFound, "no_tag") {
			t.Errorf("a second time: %v", err)
		}
		if _, err := tags.GetTag(ctx, tag.Name); !hasReason(err, errs.NotFound, "no_tag") {
			t.Error(err)
		}
	}
	if page, err := tags.ListTags(ctx, "", 10); err != nil || len(page) != 0 {
		t.Errorf("%+v, %v", page, err)
	}
	fixed()
}

// TestATagIsPutPastNumbers that were given: what is held in reserve of a segment comes first, and a sequence's owners go on above.
func TestATagIsPutPastNumbers(t *testing.T) {
	db := store(t)
	ctx := t.Context()
	put(t, db, idgen.Tag{Name: "g", Scheme: idgen.SchemeSegment}, idgen.Tag{Name: "s", Scheme: idgen.SchemeSequence}, idgen.Tag{Name: "new", Scheme: idgen.SchemeSegment, Last: 500})
	n := newSeqNode(t, db, idgen.SequencesConfig{})
	if v, err := n.Next(ctx, 5); err != nil || v != 1 {
		t.Fatalf("%d, %v", v, err)
	}
	put(t, db, idgen.Tag{Name: "g", Scheme: idgen.SchemeSegment, Last: 5000}, idgen.Tag{Name: "s", Scheme: idgen.SchemeSequence, Last: 700_000})
	put(t, db, idgen.Tag{Name: "g", Scheme: idgen.SchemeSegment}, idgen.Tag{Name: "s", Scheme: idgen.SchemeSequence, Last: 7}) // never back
	if _, err := tagsOf(t, db).PutTag(ctx, idgen.Tag{Name: "g", Scheme: idgen.SchemeSegment, Maximum: 4999}); !hasReason(err, errs.Invalid, "bad_tag") {
		t.Error(err)
	}
	dst := make([]uint64, 1)
	for tag, want := range map[string]uint64{"g": 5001, "new": 501} {
		if err := segments(t, db, clock.System{}, 0).Fill(ctx, tag, dst); err != nil || dst[0] != want {
			t.Errorf("%s: %d, %v", tag, dst[0], err)
		}
	}
	for _, node := range []*seqNode{n, newSeqNode(t, db, idgen.SequencesConfig{Own: true})} {
		v, err := node.NextN(ctx, 5, 10_000) // beyond the bound that it knows
		if err != nil || v < 700_001 {
			t.Errorf("%d, %v", v, err)
		}
		if v, err := node.Next(ctx, 999_999); err != nil || v < 700_001 {
			t.Errorf("another section: %d, %v", v, err)
		}
	}
}

// TestRulesStayApart: no two tags can give one text, also not one that was deleted.
func TestRulesStayApart(t *testing.T) {
	tags := tagsOf(t, store(t))
	ctx := t.Context()
	rule := func(name, prefix, date string, digits int) idgen.Tag {
		return idgen.Tag{Name: name, Scheme: idgen.SchemeRule, Rule: idgen.Rule{Prefix: prefix, Date: date, Digits: digits}}
	}
	for _, tag := range []idgen.Tag{rule("a", "A", "YYYYMMDD", 4), rule("b", "B", "YYYYMMDD", 4), rule("c", "A", "YYYYMMDD", 5)} {
		if _, err := tags.PutTag(ctx, tag); err != nil {
			t.Fatal(err)
		}
	}
	taken := func() {
		t.Helper()
		for _, tag := range []idgen.Tag{rule("d", "A", "YYYYMMDD", 4), rule("d", "A", "", 12), rule("d", "A2", "YYMMDD", 5), rule("d", "", "YYYYMMDD", 5)} {
			if _, err := tags.PutTag(ctx, tag); !hasReason(err, errs.Conflict, "rule_taken") {
				t.Errorf("%+v: %v", tag.Rule, err)
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
