package idservice_test

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/platform/idgen"
	"github.com/rialto-im/rialto/internal/platform/idservice"
	idv1 "github.com/rialto-im/rialto/sdk/go/gen/id/v1"
	"pgregory.net/rapid"
)

func serviceOn(t *testing.T, db idservice.Records, c clock.Clock, worker uint64) *idservice.Service {
	t.Helper()
	s, err := idservice.NewService(t.Context(), idservice.ServiceDeps{DB: db, Leases: idgen.Fixed(c, worker), Clock: c, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))}, idservice.ServiceConfig{Node: "a", Exclusive: true})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// reasonOf returns an error's reason, or "".
func reasonOf(err error) string {
	if err == nil {
		return ""
	}
	return errs.Of(err).Reason
}

// The ids of each scheme increase, have the requested count, and are recognized by Explain.
func TestIDsOfEachSchemeAreExplained(t *testing.T) {
	s := serviceOn(t, store(t), clock.System{}, 3)
	for _, scheme := range idservice.Schemes() {
		if scheme == idservice.SchemeRedis { // it needs a server, and has tests of its own
			if _, err := s.Next(t.Context(), &idv1.NextRequest{Tag: scheme, Count: 1}); reasonOf(err) != "no_redis" {
				t.Errorf("without a server: %v", err)
			}
			continue
		}
		last := ""
		for _, count := range []int64{1, 7, 300} {
			r, err := s.Next(t.Context(), &idv1.NextRequest{Tag: scheme, Count: count, Key: 5, Type: 2})
			if err != nil {
				t.Fatalf("%s: %v", scheme, err)
			}
			list := r.Texts
			for _, n := range r.Numbers {
				list = append(list, fmt.Sprintf("%019d", n)) // so that texts sort like numbers
			}
			if len(list) != int(count) {
				t.Fatalf("%s: got %d ids, want %d", scheme, len(list), count)
			}
			for _, id := range list {
				if id <= last {
					t.Fatalf("%s: got %s after %s", scheme, id, last)
				}
				last = id
			}
			id := strings.TrimLeft(list[0], "0")
			if len(r.Texts) > 0 {
				id = r.Texts[0]
			}
			for _, hint := range []string{"", scheme} {
				e, err := s.Explain(t.Context(), &idv1.ExplainRequest{Id: id, Scheme: hint})
				if err != nil {
					t.Fatalf("explain %s with the hint %q: got %v", id, hint, err)
				}
				at := slices.IndexFunc(e.Readings, func(r *idv1.Reading) bool { return r.Scheme == scheme })
				if at < 0 || e.Readings[at].Doubt != "" || hint != "" && len(e.Readings) != 1 {
					t.Errorf("explain %s of scheme %s with the hint %q: got %v", id, scheme, hint, e.Readings)
				}
			}
		}
	}
}

// Next refuses invalid counts, tags and conversation types.
func TestNextRejectsInvalidRequests(t *testing.T) {
	s := serviceOn(t, store(t), clock.System{}, 0)
	for _, tc := range []struct {
		r    *idv1.NextRequest
		want string
	}{
		{&idv1.NextRequest{Tag: "snowflake"}, "bad_batch"},
		{&idv1.NextRequest{Tag: "snowflake", Count: -1}, "bad_batch"},
		{&idv1.NextRequest{Tag: "snowflake", Count: 10_001}, "bad_batch"},
		{&idv1.NextRequest{Tag: "snowflake", Count: 1 << 62}, "bad_batch"},
		{&idv1.NextRequest{Tag: "nope", Count: 1}, "no_tag"},
		{&idv1.NextRequest{Tag: "", Count: 1}, "no_tag"},
		{&idv1.NextRequest{Tag: strings.Repeat("x", 1000) + "\x00", Count: 1}, "no_tag"},
		{&idv1.NextRequest{Tag: "readable", Count: 1, Type: 16}, "bad_type"},
		{&idv1.NextRequest{Tag: "readable", Count: 1, Type: 1 << 31}, "bad_type"},
		{&idv1.NextRequest{Tag: "segment", Count: 10_000}, ""},
	} {
		if _, err := s.Next(t.Context(), tc.r); reasonOf(err) != tc.want {
			t.Errorf("%.100v: got %v, want %q", tc.r, err, tc.want)
		}
	}
}

// Tags are created, changed, listed in pages, deleted and created again, and never issue a number twice.
func TestTags(t *testing.T) {
	db := store(t)
	c := &stepping{}
	s, other := serviceOn(t, db, c, 0), serviceOn(t, db, c, 1)
	put := func(name, scheme string, step uint64) error {
		_, err := s.PutTag(t.Context(), &idv1.Tag{Name: name, Scheme: scheme, Step: step})
		return err
	}
	next := func(on *idservice.Service, tag string) (uint64, error) {
		r, err := on.Next(t.Context(), &idv1.NextRequest{Tag: tag, Count: 1})
		if err != nil {
			return 0, err
		}
		return r.Numbers[0], nil
	}
	if err := put("orders", "segment", 10); err != nil {
		t.Fatal(err)
	}
	seen := map[uint64]bool{}
	take := func(on *idservice.Service) {
		t.Helper()
		v, err := next(on, "orders")
		if err != nil || seen[v] {
			t.Fatalf("got number %d, %v, after %v", v, err, seen)
		}
		seen[v] = true
	}
	for range 15 {
		take(s)
		take(other)
	}
	for what, err := range map[string]error{"another scheme": put("orders", "sequence", 10), "a bad name": put("Orders!", "segment", 10), "no scheme": put("bills", "", 0),
		"a built-in one": put("segment", "segment", 5)} {
		if err == nil {
			t.Errorf("put with %s: got no error", what)
		}
	}
	if _, err := s.PutTag(t.Context(), nil); reasonOf(err) != "bad_tag" {
		t.Errorf("put without a tag: got %v", err)
	}
	if _, err := s.DeleteTag(t.Context(), "snowflake"); reasonOf(err) != "built_in_tag" {
		t.Errorf("deleting a built-in tag: got %v", err)
	}
	for _, want := range []bool{true, false} {
		if r, err := s.DeleteTag(t.Context(), "orders"); err != nil || r.Deleted != want {
			t.Errorf("got %v, %v", r, err)
		}
	}
	if _, err := next(s, "orders"); reasonOf(err) != "no_tag" {
		t.Errorf("Next of a deleted tag: got %v", err)
	}
	if _, err := s.GetTag(t.Context(), "orders"); reasonOf(err) != "no_tag" {
		t.Errorf("GetTag of a deleted tag: got %v", err)
	}
	c.step(-11 * time.Second) // moves the clock forward
	if _, err := next(other, "orders"); reasonOf(err) != "no_tag" {
		t.Errorf("Next of a deleted tag on another node after tagTTL: got %v", err)
	}
	if err := put("orders", "segment", 10); err != nil {
		t.Fatal(err)
	}
	for range 15 {
		take(s)
		take(other)
	}
	g, err := s.GetTag(t.Context(), "orders")
	if err != nil || g.BuiltIn || g.Step != 10 || g.Last < uint64(len(seen)) {
		t.Errorf("got tag %v, %v", g, err)
	}
	want := append(idservice.Schemes(), "orders")
	want = slices.DeleteFunc(want, func(name string) bool { return name == idservice.SchemeRedis }) // there is no server
	slices.Sort(want)
	for limit := range uint32(14) {
		var names []string
		for r := (&idv1.ListTagsRequest{Limit: limit}); ; {
			p, err := s.ListTags(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			for _, tag := range p.Tags {
				names = append(names, tag.Name)
				if tag.BuiltIn != (tag.Name != "orders") || tag.Name != "orders" && tag.Scheme != tag.Name {
					t.Errorf("got tag %v", tag)
				}
			}
			if r.Page = p.Next; p.Next == "" {
				break
			}
		}
		if !slices.Equal(names, want) {
			t.Errorf("names in pages of %d: got %v", limit, names)
		}
	}
}

// A tag can have any scheme, and issues its ids.
func TestTagsOfEachScheme(t *testing.T) {
	s := serviceOn(t, store(t), clock.System{}, 0)
	for _, scheme := range idservice.Schemes() {
		tag := &idv1.Tag{Name: "my." + scheme, Scheme: scheme}
		if scheme == idservice.SchemeRule {
			tag.Rule = &idv1.Rule{Prefix: "A/", Zone: "Asia/Shanghai", Digits: 4}
		}
		stored, err := s.PutTag(t.Context(), tag)
		if err != nil || stored.Scheme != scheme || stored.GetRule().GetZone() != tag.GetRule().GetZone() {
			t.Fatalf("put: got %v, %v", stored, err)
		}
		r, err := s.Next(t.Context(), &idv1.NextRequest{Tag: tag.Name, Count: 2})
		if scheme == idservice.SchemeRedis {
			if reasonOf(err) != "no_redis" {
				t.Errorf("%s without a server: %v", tag.Name, err)
			}
			continue
		}
		if err != nil || len(r.Numbers)+len(r.Texts) != 2 {
			t.Errorf("Next of %s: got %v, %v", tag.Name, r, err)
		}
		if scheme == idservice.SchemeRule && r.Texts[1] != "A/0002" {
			t.Errorf("got ids %v", r)
		}
	}
}

// A tag is raised above issued numbers, as after a restore, and never lowered.
func TestATagIsRaisedAboveIssuedNumbers(t *testing.T) {
	s := serviceOn(t, store(t), clock.System{}, 0)
	for _, scheme := range []string{"segment", "sequence"} {
		for _, last := range []uint64{0, 5_000, 40} {
			if _, err := s.PutTag(t.Context(), &idv1.Tag{Name: scheme + "s", Scheme: scheme, Last: last}); err != nil {
				t.Fatal(err)
			}
		}
		r := &idv1.NextRequest{Tag: scheme + "s", Count: 1}
		if scheme == "sequence" {
			r.Key = 7
		}
		got, err := s.Next(t.Context(), r)
		if err != nil || got.Numbers[0] <= 5_000 {
			t.Errorf("tag %s: got %v, %v", scheme, got, err)
		}
	}
}

// While the database is unavailable, a node continues to serve the tags that it knows.
func TestTagsWithoutTheDatabase(t *testing.T) {
	db := &breaking{db: store(t)}
	c := &stepping{}
	s := serviceOn(t, db, c, 0)
	if _, err := s.PutTag(t.Context(), &idv1.Tag{Name: "orders", Scheme: "segment"}); err != nil {
		t.Fatal(err)
	}
	ask := func(tag string) error {
		_, err := s.Next(t.Context(), &idv1.NextRequest{Tag: tag, Count: 10})
		return err
	}
	if err := ask("orders"); err != nil {
		t.Fatal(err)
	}
	db.unavailable.Store(true)
	c.step(-time.Minute)
	for range 90 { // a step of 1,000
		if err := ask("orders"); err != nil {
			t.Fatalf("Next: got %v", err)
		}
	}
	for _, scheme := range []string{"snowflake", "uuidv7"} {
		if err := ask(scheme); err != nil {
			t.Errorf("scheme %s: got %v", scheme, err)
		}
	}
	for _, tag := range []string{"orders", "unknown"} {
		var err error
		for range 20 {
			if err = ask(tag); err != nil {
				break
			}
		}
		if !errs.Is(err, errs.Unavailable) {
			t.Errorf("tag %s: got %v", tag, err)
		}
	}
}

// Explain needs the database only for an id that may be of a rule.
func TestExplainWithoutTheDatabase(t *testing.T) {
	way := &breaking{db: store(t)}
	s := serviceOn(t, way, clock.System{}, 0)
	way.unavailable.Store(true)
	for id, want := range map[string]string{"249858855004012544": "", "BD8U-FCQJ-LDC5-L789": "", "RULE-20261121000000001": "ids_unavailable"} {
		r, err := s.Explain(t.Context(), &idv1.ExplainRequest{Id: id})
		if reasonOf(err) != want || (err == nil) != (len(r.GetReadings()) > 0) {
			t.Errorf("explain %s: got %v, %v", id, r, err)
		}
	}
}

// TestExplain: a table of readings and rejections.
func TestExplain(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	rules := []idservice.Tag{{Name: "bills", Scheme: "rule", Rule: idservice.Rule{Prefix: "INV-", Date: "YYYYMMDD", Digits: 6}}, {Name: "plain", Scheme: "rule", Rule: idservice.Rule{Digits: 5}}}
	for _, tc := range []struct{ id, scheme, want string }{
		{"249858855004012544", "", "snowflake segment? sequence? multiprimary? sonyflake?"},
		{"249858855004012544", "snowflake", "snowflake"},
		{"1234", "", "segment sequence multiprimary snowflake? sonyflake?"},
		{"01234", "", "rule segment sequence multiprimary snowflake? sonyflake?"},
		{"1234", "sequence", "sequence"},
		{"INV-20261121000042", "", "rule"},
		{"BD8U-FCQJ-LDC5-L789", "", "readable"},
		{"017f22e2-79b0-7cc3-98c4-dc0c0c07398f", "", "uuidv7"},
		{"01ARZ3NDEKTSV4RRFFQ69G5FAV", "", "ulid"},
		{"9223372036854775807", "multiprimary", "multiprimary"},

		{"", "", "bad_id: 1 to 100"},
		{strings.Repeat("1", 101), "", "bad_id: 1 to 100"},
		{"9223372036854775808", "", "bad_id: 9223372036854775807"},
		{"0", "", "bad_id: 0 is not an id"},
		{"-1", "", "bad_id: character 1 is '-'"},
		{"12 34", "", "bad_id: character 3 is ' '"},
		{"12é4", "", "bad_id: character 3 is 'é'"},
		{"12\xff", "", "bad_id: character 3"},
		{"BD8U-FCQJ-LDC5-L780", "", "bad_id: character 19"},
		{"BD8U-FCQJ_LDC5-L789", "", "bad_id: character 10"},
		{"BD8U-FCQJ-LDC5-L78", "readable", "bad_id: 19 characters"},
		{"017f22e2-79b0-4cc3-98c4-dc0c0c07398f", "", "bad_id: not of version 7"},
		{"017f22e2-79b0-7cc3-98c4-dc0c0c0739xf", "", "bad_id: character 35"},
		{"01ARZ3NDEKTSV4RRFFQ69G5FAU", "", "bad_id: character 26"},
		{"INV-2026112100004x", "", "bad_id: character 18"},
		{"INV-20261341000042", "", "bad_id: character 5"},
		{"XYZ-1", "rule", "bad_id: no tag here"},
		{"1234", "uuidv7", "bad_id: 36 characters"},
		{"1", "nope", "bad_scheme: snowflake"},
	} {
		readings, err := idservice.Explain(tc.id, tc.scheme, rules, now)
		got := reasonOf(err)
		if err != nil {
			_, words, _ := strings.Cut(tc.want, ": ")
			if !strings.HasPrefix(tc.want, got) || !strings.Contains(errs.Of(err).Message, words) && words != "" {
				t.Errorf("explain %q as %q: got %v, want %s", tc.id, tc.scheme, err, tc.want)
			}
			continue
		}
		var list []string
		for _, r := range readings {
			word := r.Scheme
			if r.Doubt != "" {
				word += "?"
			}
			list = append(list, word)
		}
		if strings.Join(list, " ") != tc.want {
			t.Errorf("explain %q as %q: got %v, want %s", tc.id, tc.scheme, list, tc.want)
		}
	}
}

// Explain accepts any text, and rejects it only with a reason.
func TestExplainAcceptsAnyText(t *testing.T) {
	schemes := append(idservice.Schemes(), "")
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[0-9A-Za-z-]{1,40}`), rapid.StringN(36, 36, -1), rapid.StringN(26, 26, -1), rapid.StringMatching(`[0-9]{1,22}`)).Draw(t, "id")
		scheme := rapid.SampledFrom(schemes).Draw(t, "scheme")
		readings, err := idservice.Explain(text, scheme, nil, time.Now())
		if (err == nil) == (len(readings) == 0) || err != nil && reasonOf(err) != "bad_id" {
			t.Fatalf("got %v, %v", readings, err)
		}
		for _, r := range readings {
			if scheme != "" && r.Scheme != scheme {
				t.Fatalf("got %v, want scheme %s", r, scheme)
			}
		}
	})
}

// FuzzExplain: every input is explained or rejected with a reason, and errors are printable.
func FuzzExplain(f *testing.F) {
	for _, seed := range []string{"249858855004012544", "BD8U-FCQJ-LDC5-L789", "017f22e2-79b0-7cc3-98c4-dc0c0c07398f", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "INV-20261121000042", "12\xff", ""} {
		f.Add(seed, "")
		f.Add(seed, "rule")
	}
	rules := []idservice.Tag{{Name: "bills", Scheme: "rule", Rule: idservice.Rule{Prefix: "INV-", Date: "YYYYMMDD", Zone: "Europe/Berlin", Digits: 6}}}
	f.Fuzz(func(t *testing.T, text, scheme string) {
		readings, err := idservice.Explain(text, scheme, rules, time.Unix(1_800_000_000, 0))
		if (err == nil) == (len(readings) == 0) || err != nil && (errs.Of(err).Kind != errs.Invalid || len(err.Error()) > 1000) {
			t.Fatalf("explain %q as %q: got %v, %v", text, scheme, readings, err)
		}
		for _, r := range readings {
			for _, p := range r.Parts {
				if !utf8.ValidString(p.Value) {
					t.Fatalf("explain %q: got %v", text, r)
				}
			}
		}
	})
}
