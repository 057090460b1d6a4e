package idservice_test

import (
	"fmt"
	"sort"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/platform/idgen/idcheck"
	"github.com/rialto-im/rialto/internal/platform/idservice"
	"pgregory.net/rapid"
)

func rules(t fataler, db idservice.Records, c clock.Clock) *idservice.Rules {
	t.Helper()
	r, err := idservice.NewRules(t.Context(), counterDeps(db, c), idservice.RulesConfig{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Prefix, day and number are parsed, and an error names the first invalid character.
func TestRuleIDsAreParsed(t *testing.T) {
	tokyo, err := time.LoadLocation("Asia/Tokyo")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		rule idservice.Rule
		text string
		want idservice.RuleParts
	}{
		{idservice.Rule{Prefix: "ORD-", Date: "YYYYMMDD", Digits: 6}, "ORD-20261121000042", idservice.RuleParts{Prefix: "ORD-", Day: time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC), Number: 42}},
		{idservice.Rule{Date: "YYYY-MM-DD", Zone: "Asia/Tokyo", Digits: 1}, "2024-02-299", idservice.RuleParts{Day: time.Date(2024, 2, 29, 0, 0, 0, 0, tokyo), Number: 9}},
		{idservice.Rule{Prefix: "A", Date: "YYDDD", Digits: 3}, "A24366001", idservice.RuleParts{Prefix: "A", Day: time.Date(2024, 12, 31, 0, 0, 0, 0, time.UTC), Number: 1}},
		{idservice.Rule{Prefix: "A", Date: "YYMMDD", Digits: 3}, "A240229999", idservice.RuleParts{Prefix: "A", Day: time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC), Number: 999}},
		{idservice.Rule{Prefix: "2", Digits: 18}, "2999999999999999999", idservice.RuleParts{Prefix: "2", Number: 999_999_999_999_999_999}},
	} {
		got, err := c.rule.Parse(c.text)
		if err != nil || got.Prefix != c.want.Prefix || got.Number != c.want.Number || !got.Day.Equal(c.want.Day) {
			t.Errorf("parse %q: got %+v, %v", c.text, got, err)
		}
	}
	rule := idservice.Rule{Prefix: "ORD", Date: "YYYYMMDD", Digits: 4}
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
			t.Errorf("parse %q: got %v", text, err)
		}
	}
}

func FuzzRule(f *testing.F) {
	f.Add("ORD202611210042")
	f.Add("ORD202602290042")
	rule := idservice.Rule{Prefix: "ORD", Date: "YYYYMMDD", Zone: "America/Sao_Paulo", Digits: 4}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := rule.Parse(text)
		if err != nil {
			return
		}
		if again := string(rule.Append(nil, text[3:11], p.Number)); again != text || p.Number == 0 || p.Number > 9999 {
			t.Errorf("parse %q: got %+v, which is formatted as %q", text, p, again)
		}
	})
}

// wakeAt sets a bubble's time to one in the year 2026.
func wakeAt(t *testing.T, text string) {
	t.Helper()
	when, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Until(when))
}

func nextRule(t fataler, r *idservice.Rules, tag string, n int) []string {
	t.Helper()
	ids, err := r.Next(t.Context(), tag, n)
	if err != nil {
		t.Fatal(err)
	}
	if len(ids) != n || !sort.StringsAreSorted(ids) {
		t.Fatalf("want %d ids, got %v", n, ids)
	}
	return ids
}

// A day begins at midnight in the rule's zone, and its numbers with 1; unused numbers of the previous day are not issued.
func TestADayBeginsAtItsZonesMidnight(t *testing.T) {
	bubble(t, func(t *testing.T, db *sqldb.DB) {
		put(t, db, idservice.Tag{Name: "a", Scheme: idservice.SchemeRule, Step: 10, Rule: idservice.Rule{Prefix: "S", Date: "YYYYMMDD", Zone: "Asia/Shanghai", Digits: 4}},
			idservice.Tag{Name: "b", Scheme: idservice.SchemeRule, Step: 10, Rule: idservice.Rule{Prefix: "N", Digits: 4}})
		wakeAt(t, "2026-11-21T15:59:59Z")
		c := &stepping{}
		r := rules(t, db, c)
		step := func(tag, want string) {
			t.Helper()
			if got := nextRule(t, r, tag, 1)[0]; got != want {
				t.Errorf("got %s, want %s", got, want)
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
		c.step(2 * time.Hour) // beyond MaxStepBack: the previous day's numbers continue
		step("a", "S202611210011")
		c.step(-2 * time.Hour)
		step("a", "S202611220011")
		r = rules(t, db, c) // a restart skips the reserve
		step("a", "S202611220021")
		step("b", "N0011")
	})
}

// When a day's digits are used up, there is an error, and they never restart; the next day has its own.
func TestUsedUpDigitsOfADayAreRefused(t *testing.T) {
	bubble(t, func(t *testing.T, db *sqldb.DB) {
		put(t, db, idservice.Tag{Name: "a", Scheme: idservice.SchemeRule, Step: 40, Rule: idservice.Rule{Prefix: "A", Date: "YYMMDD", Digits: 2}})
		wakeAt(t, "2026-11-21T12:00:00Z")
		r := rules(t, db, clock.System{})
		if ids := nextRule(t, r, "a", 95); ids[0] != "A26112101" || ids[94] != "A26112195" {
			t.Fatalf("ids %v, want A26112101 to A26112195", ids)
		}
		used := func(n int) {
			t.Helper()
			if _, err := r.Next(t.Context(), "a", n); !hasReason(err, errs.Exhausted, "ids_used_up") {
				t.Fatalf("error %v, want the reason ids_used_up", err)
			}
		}
		used(5)
		if ids := nextRule(t, r, "a", 4); ids[3] != "A26112199" {
			t.Fatalf("ids %v, want them to end with A26112199", ids)
		}
		used(1)
		if _, err := rules(t, db, clock.System{}).Next(t.Context(), "a", 1); !hasReason(err, errs.Exhausted, "ids_used_up") {
			t.Fatalf("error %v, want the reason ids_used_up", err)
		}
		time.Sleep(24 * time.Hour)
		if ids := nextRule(t, r, "a", 2); ids[0] != "A26112201" {
			t.Fatalf("ids %v, want them to begin with A26112201", ids)
		}
		// A century later the texts would repeat, so the numbers continue.
		for range 400 {
			time.Sleep(100 * 365 * 24 * time.Hour / 400)
		}
		wakeAt(t, "2126-11-21T12:00:00Z")
		used(1)
		for _, n := range []int{0, -1, 10_001} {
			if _, err := r.Next(t.Context(), "a", n); !hasReason(err, errs.Invalid, "bad_batch") {
				t.Errorf("%d ids: got %v", n, err)
			}
		}
		if _, err := r.Next(t.Context(), "b", 1); !hasReason(err, errs.NotFound, "no_tag") {
			t.Errorf("error %v, want the reason no_tag", err)
		}
		if err := tagsOf(t, db).DeleteTag(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		r.Forget("a")
		if _, err := r.Next(t.Context(), "a", 1); !hasReason(err, errs.NotFound, "no_tag") {
			t.Errorf("error %v, want the reason no_tag", err)
		}
	})
}

// During an outage, a rule issues ids from its reserve, for the same day.
func TestARuleServesThroughAnOutage(t *testing.T) {
	bubble(t, func(t *testing.T, db *sqldb.DB) {
		put(t, db, idservice.Tag{Name: "a", Scheme: idservice.SchemeRule, Step: 10, Rule: idservice.Rule{Date: "YYMMDD", Digits: 4}})
		way := &breaking{db: db}
		r := rules(t, way, clock.System{})
		nextRule(t, r, "a", 1)
		way.unavailable.Store(true)
		nextRule(t, r, "a", 9)
		if _, err := r.Next(t.Context(), "a", 1); !hasReason(err, errs.Unavailable, "ids_unavailable") {
			t.Fatalf("error %v, want the reason ids_unavailable", err)
		}
		if _, err := r.Next(t.Context(), "other", 1); !hasReason(err, errs.Unavailable, "ids_unavailable") {
			t.Fatalf("error %v, want the reason ids_unavailable", err)
		}
		way.unavailable.Store(false)
		time.Sleep(3 * time.Second)
		nextRule(t, r, "a", 1)
	})
}

// With many callers, each id is issued once, and each caller's ids increase.
func TestRulesOfManyCallers(t *testing.T) {
	db := store(t)
	put(t, db, idservice.Tag{Name: "a", Scheme: idservice.SchemeRule, Rule: idservice.Rule{Prefix: "A", Digits: 9}})
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
		t.Fatalf("got %d ids, %v", check.Count, err)
	}
}

// Three nodes, whose clocks step over midnights, crash and lose the store and its answers. No text is issued twice, each is parsed
// correctly, and those of a node increase unless its clock went far back.
func TestRulesModel(t *testing.T) {
	place, tries := sqltest.Place(t), 0
	schedules(t, 40, 0.2, func(r *rapid.T) {
		steps := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) scheduleStep {
			return scheduleStep{
				what: rapid.SampledFrom([]string{"next", "next", "next", "time", "time", "step", "away", "mute", "crash"}).Draw(r, "what"),
				node: rapid.IntRange(0, 2).Draw(r, "node"), n: rapid.IntRange(1, 40).Draw(r, "n"), yes: rapid.Bool().Draw(r, "yes"),
			}
		}), 1, 50).Draw(r, "steps")
		tries++
		var fault string
		synctest.Test(t, func(t *testing.T) {
			db, err := sqldb.Open(t.Context(), place)
			if err != nil {
				t.Fatal(err)
			}
			rule := idservice.Rule{Prefix: fmt.Sprintf("T%d-", tries), Date: "YYYYMMDD", Zone: "Europe/Paris", Digits: 6}
			put(t, db, idservice.Tag{Name: fmt.Sprint("t", tries), Scheme: idservice.SchemeRule, Step: 20, Rule: rule})
			w := &ruleWorld{tag: fmt.Sprint("t", tries), rule: rule, seen: idcheck.Set[string]{}}
			begin := func(i int) {
				n := &w.nodes[i]
				n.way, n.clock, n.last, n.high = &breaking{db: db}, &stepping{}, "", time.Time{}
				n.Rules = rules(t, n.way, n.clock)
			}
			for i := range w.nodes {
				begin(i)
			}
			for _, d := range steps {
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
	rule  idservice.Rule
	nodes [3]struct {
		*idservice.Rules
		way   *breaking
		clock *stepping
		last  string
		high  time.Time // highest time of its clock
	}
	seen idcheck.Set[string]
}

func (w *ruleWorld) do(t *testing.T, d scheduleStep) (fault string) {
	n := &w.nodes[d.node]
	switch d.what {
	case "next":
		now := n.clock.Now()
		if n.high.Sub(now) > time.Hour {
			n.high, n.last = now, "" // it follows the clock's day again
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
				return fmt.Sprintf("parse %s: got %+v, %v", v, p, err)
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
		n.way.unavailable.Store(d.yes)
	case "mute":
		n.way.loseAnswers.Store(d.yes)
	}
	return ""
}
