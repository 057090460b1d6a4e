package idgen_test

import (
	"fmt"
	"sort"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rialto-im/rialto/internal/clock"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/idgen"
	"github.com/rialto-im/rialto/internal/idgen/idcheck"
	"github.com/rialto-im/rialto/internal/sqldb"
	"github.com/rialto-im/rialto/internal/sqldb/sqltest"
	"pgregory.net/rapid"
)

func rules(t fataler, db idgen.Records, c clock.Clock) *idgen.Rules {
	t.Helper()
	r, err := idgen.NewRules(t.Context(), counterDeps(db, c), idgen.RulesConfig{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestARuleIsReadBack: prefix, day and number, and the first character that cannot be is named.
func TestARuleIsReadBack(t *testing.T) {
	tokyo, err := time.LoadLocation("Asia/Tokyo")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		rule idgen.Rule
		text string
		want idgen.RuleParts
	}{
		{idgen.Rule{Prefix: "ORD-", Date: "YYYYMMDD", Digits: 6}, "ORD-20261121000042", idgen.RuleParts{Prefix: "ORD-", Day: time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC), Number: 42}},
		{idgen.Rule{Date: "YYYY-MM-DD", Zone: "Asia/Tokyo", Digits: 1}, "2024-02-299", idgen.RuleParts{Day: time.Date(2024, 2, 29, 0, 0, 0, 0, tokyo), Number: 9}},
		{idgen.Rule{Prefix: "A", Date: "YYDDD", Digits: 3}, "A24366001", idgen.RuleParts{Prefix: "A", Day: time.Date(2024, 12, 31, 0, 0, 0, 0, time.UTC), Number: 1}},
		{idgen.Rule{Prefix: "A", Date: "YYMMDD", Digits: 3}, "A240229999", idgen.RuleParts{Prefix: "A", Day: time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC), Number: 999}},
		{idgen.Rule{Prefix: "2", Digits: 18}, "2999999999999999999", idgen.RuleParts{Prefix: "2", Number: 999_999_999_999_999_999}},
	} {
		got, err := c.rule.Parse(c.text)
		if err != nil || got.Prefix != c.want.Prefix || got.Number != c.want.Number || !got.Day.Equal(c.want.Day) {
			t.Errorf("%q is %+v, %v", c.text, got, err)
		}
	}
	rule := idgen.Rule{Prefix: "ORD", Date: "YYYYMMDD", Digits: 4}
	for text, want := range map[string]string{
		"":                  "15 characters, not 0",
		"ORD2026112100042":  "15 characters, not 16",
		"ORX202611210042":   "character 3",
		"ORD202613210042":   "character 4",
		"ORD202302290042":   "character 4",
		"ORD2026 1210042":   "character 4",
		"ORD20261121004\n":  "character 15",
		"ORD20261121+042":   "character 12",
		"ORD202611210000":   "character 15",
		"ORD2026112１42":     "character 4",
		"\x00RD20261121004": "characters",
	} {
		if _, err := rule.Parse(text); !hasReason(err, errs.Invalid, "bad_id") || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzRule(f *testing.F) {
	f.Add("ORD202611210042")
	f.Add("ORD202602290042")
	rule := idgen.Rule{Prefix: "ORD", Date: "YYYYMMDD", Zone: "America/Sao_Paulo", Digits: 4}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := rule.Parse(text)
		if err != nil {
			return
		}
		if again := string(rule.Append(nil, text[3:11], p.Number)); again != text || p.Number == 0 || p.Number > 9999 {
			t.Errorf("%q is read as %+v, which is %q", text, p, again)
		}
	})
}

// wakeAt makes a bubble's time one in the year 2026.
func wakeAt(t *testing.T, text string) {
	t.Helper()
	when, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Until(when))
}

func nextRule(t fataler, r *idgen.Rules, tag string, n int) []string {
	t.Helper()
	ids, err := r.Next(t.Context(), tag, n)
	if err != nil {
		t.Fatal(err)
	}
	if len(ids) != n || !sort.StringsAreSorted(ids) {
		t.Fatalf("%d ids: %v", n, ids)
	}
	return ids
}

// TestADayBeginsAtItsZonesMidnight, and its numbers with 1; those left of the day before are not given.
func TestADayBeginsAtItsZonesMidnight(t *testing.T) {
	bubble(t, func(t *testing.T, db *sqldb.DB) {
		put(t, db, idgen.Tag{Name: "a", Scheme: idgen.SchemeRule, Step: 10, Rule: idgen.Rule{Prefix: "S", Date: "YYYYMMDD", Zone: "Asia/Shanghai", Digits: 4}},
			idgen.Tag{Name: "b", Scheme: idgen.SchemeRule, Step: 10, Rule: idgen.Rule{Prefix: "N", Digits: 4}})
		wakeAt(t, "2026-11-21T15:59:59Z")
		c := &stepping{}
		r := rules(t, db, c)
		step := func(tag, want string) {
			t.Helper()
			if got := nextRule(t, r, tag, 1)[0]; got != want {
				t.Errorf("%s, not %s", got, want)
			}
		}
		step("a", "S202611210001")
		step("b", "N0001")
		time.Sleep(time.Second) // midnight
		step("a", "S202611220001")
		step("b", "N0002")
		c.step(time.Minute) // back over midnight
		step("a", "S202611220002")
		time.Sleep(2 * time.Minute)
		step("a", "S202611220003")
		c.step(2 * time.Hour) // beyond what is waited out: the old day's numbers go on
		step("a", "S202611210011")
		c.step(-2 * time.Hour)
		step("a", "S202611220011")
		r = rules(t, db, c) // a restart skips what was in reserve
		step("a", "S202611220021")
		step("b", "N0011")
	})
}

// TestADaysDigitsEnd with an error, and never begin again; the next day does.
func TestADaysDigitsEnd(t *testing.T) {
	bubble(t, func(t *testing.T, db *sqldb.DB) {
		put(t, db, idgen.Tag{Name: "a", Scheme: idgen.SchemeRule, Step: 40, Rule: idgen.Rule{Prefix: "A", Date: "YYMMDD", Digits: 2}})
		wakeAt(t, "2026-11-21T12:00:00Z")
		r := rules(t, db, clock.System{})
		if ids := nextRule(t, r, "a", 95); ids[0] != "A26112101" || ids[94] != "A26112195" {
			t.Fatal(ids)
		}
		used := func(n int) {
			t.Helper()
			if _, err := r.Next(t.Context(), "a", n); !hasReason(err, errs.Exhausted, "ids_used_up") {
				t.Fatal(err)
			}
		}
		used(5)
		if ids := nextRule(t, r, "a", 4); ids[3] != "A26112199" {
			t.Fatal(ids)
		}
		used(1)
		if _, err := rules(t, db, clock.System{}).Next(t.Context(), "a", 1); !hasReason(err, errs.Exhausted, "ids_used_up") {
			t.Fatal(err)
		}
		time.Sleep(24 * time.Hour)
		if ids := nextRule(t, r, "a", 2); ids[0] != "A26112201" {
			t.Fatal(ids)
		}
		// A century later the same texts are due: their numbers go on.
		for range 400 {
			time.Sleep(100 * 365 * 24 * time.Hour / 400)
		}
		wakeAt(t, "2126-11-21T12:00:00Z")
		used(1)
		for _, n := range []int{0, -1, 10_001} {
			if _, err := r.Next(t.Context(), "a", n); !hasReason(err, errs.Invalid, "bad_batch") {
				t.Errorf("%d: %v", n, err)
			}
		}
		if _, err := r.Next(t.Context(), "b", 1); !hasReason(err, errs.NotFound, "no_tag") {
			t.Error(err)
		}
		if err := tagsOf(t, db).DeleteTag(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		r.Forget("a")
		if _, err := r.Next(t.Context(), "a", 1); !hasReason(err, errs.NotFound, "no_tag") {
			t.Error(err)
		}
	})
}

// TestARuleServesThroughAnOutage for as long as what it holds lasts, and for this day.
func TestARuleServesThroughAnOutage(t *testing.T) {
	bubble(t, func(t *testing.T, db *sqldb.DB) {
		put(t, db, idgen.Tag{Name: "a", Scheme: idgen.SchemeRule, Step: 10, Rule: idgen.Rule{Date: "YYMMDD", Digits: 4}})
		way := &breaking{db: db}
		r := rules(t, way, clock.System{})
		nextRule(t, r, "a", 1)
		way.away.Store(true)
		nextRule(t, r, "a", 9)
		if _, err := r.Next(t.Context(), "a", 1); !hasReason(err, errs.Unavailable, "ids_unavailable") {
			t.Fatal(err)
		}
		if _, err := r.Next(t.Context(), "other", 1); !hasReason(err, errs.Unavailable, "ids_unavailable") {
			t.Fatal(err)
		}
		way.away.Store(false)
		time.Sleep(3 * time.Second)
		nextRule(t, r, "a", 1)
	})
}

// TestRulesOfManyAskers: each id once, and each asker's rise.
func TestRulesOfManyAskers(t *testing.T) {
	db := store(t)
	put(t, db, idgen.Tag{Name: "a", Scheme: idgen.SchemeRule, Rule: idgen.Rule{Prefix: "A", Digits: 9}})
	r := rules(t, db, clock.System{})
	runs := make([][]string, 4)
	var wait sync.WaitGroup
	for i := range runs {
		wait.Go(func() {
			for range 200 {
				ids, err := r.Next(t.Context(), "a", i+1)
				if err != nil {
					t.Error(err)
					return
				}
				runs[i] = append(runs[i], ids...)
			}
		})
	}
	wait.Wait()
	var check idcheck.Checker[string]
	if err := check.Round(runs...); err != nil || check.Count != 2000 {
		t.Fatalf("%d, %v", check.Count, err)
	}
}

// TestRulesModel: three nodes, each with a clock of its own that steps over midnights, crash and lose the store and its
// answers. No text comes twice, each is read back as what it is, and those of a node rise but where its clock went far back.
func TestRulesModel(t *testing.T) {
	place, tries := sqltest.Place(t), 0
	schedules(t, 40, 0.2, func(r *rapid.T) {
		deeds := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) deed {
			return deed{
				what: rapid.SampledFrom([]string{"next", "next", "next", "time", "time", "step", "away", "mute", "crash"}).Draw(r, "what"),
				node: rapid.IntRange(0, 2).Draw(r, "node"), n: rapid.IntRange(1, 40).Draw(r, "n"), yes: rapid.Bool().Draw(r, "yes"),
			}
		}), 1, 50).Draw(r, "deeds")
		tries++
		var fault string
		synctest.Test(t, func(t *testing.T) {
			db, err := sqldb.Open(t.Context(), place)
			if err != nil {
				t.Fatal(err)
			}
			rule := idgen.Rule{Prefix: fmt.Sprintf("T%d-", tries), Date: "YYYYMMDD", Zone: "Europe/Paris", Digits: 6}
			put(t, db, idgen.Tag{Name: fmt.Sprint("t", tries), Scheme: idgen.SchemeRule, Step: 20, Rule: rule})
			w := &ruleWorld{tag: fmt.Sprint("t", tries), rule: rule, seen: idcheck.Set[string]{}}
			begin := func(i int) {
				n := &w.nodes[i]
				n.way, n.clock, n.last, n.high = &breaking{db: db}, &stepping{}, "", time.Time{}
				n.Rules = rules(t, n.way, n.clock)
			}
			for i := range w.nodes {
				begin(i)
			}
			for _, d := range deeds {
				if d.what == "crash" {
					begin(d.node)
				} else if fault = w.do(t, d); fault != "" {
					break
				}
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
		})
		if fault != "" {
			r.Fatal(fault)
		}
	})
}

type ruleWorld struct {
	tag   string
	rule  idgen.Rule
	nodes [3]struct {
		*idgen.Rules
		way   *breaking
		clock *stepping
		last  string
		high  time.Time // of its clock
	}
	seen idcheck.Set[string]
}

func (w *ruleWorld) do(t *testing.T, d deed) (fault string) {
	n := &w.nodes[d.node]
	switch d.what {
	case "next":
		now := n.clock.Now()
		if n.high.Sub(now) > time.Hour {
			n.high, n.last = now, "" // it takes the clock's day again
		} else if now.After(n.high) {
			n.high = now
		}
		ids, err := n.Next(t.Context(), w.tag, d.n)
		if err != nil {
			if !errs.Is(err, errs.Unavailable) {
				return err.Error()
			}
			return ""
		}
		for _, v := range ids {
			if p, err := w.rule.Parse(v); err != nil || string(w.rule.Append(nil, p.Day.Format("20060102"), p.Number)) != v {
				return fmt.Sprintf("%s is read as %+v, %v", v, p, err)
			}
			if v <= n.last {
				return fmt.Sprintf("%s after %s", v, n.last)
			}
			n.last = v
		}
		if err := w.seen.Add(ids...); err != nil {
			return err.Error()
		}
	case "time":
		time.Sleep(time.Duration(d.n) * 20 * time.Minute)
	case "step":
		n.clock.step(time.Duration(d.n-20) * 7 * time.Minute)
	case "away":
		n.way.away.Store(d.yes)
	case "mute":
		n.way.mute.Store(d.yes)
	}
	return ""
}
