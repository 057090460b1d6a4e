package idservice

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	idv1 "github.com/rialto-im/rialto/sdk/go/gen/id/v1"
	"github.com/rialto-im/rialto/sdk/go/ids"
)

// Explain returns the parts of an id, in each way in which it can be read, the likeliest first.
func (s *Service) Explain(ctx context.Context, r *idv1.ExplainRequest) (*idv1.ExplainResponse, error) {
	var rules []Tag
	var away error
	if r.Scheme == "" || r.Scheme == SchemeRule {
		rules, away = s.listRules(ctx)
	}
	readings, err := Explain(r.Id, r.Scheme, rules, s.deps.Clock.Now())
	if err != nil && away != nil { // it may be of a rule; other ids do not need the database
		return nil, errs.Wrap(errs.Unavailable, "ids_unavailable", "the database does not answer; try again", away)
	}
	return &idv1.ExplainResponse{Readings: readings}, err
}

// listRules lists the tags that have a rule.
func (s *Service) listRules(ctx context.Context) (rules []Tag, err error) {
	const page = 1000
	for after := ""; ; {
		tags, err := s.store.ListTags(ctx, after, page)
		if err != nil {
			return nil, err
		}
		for _, t := range tags {
			if t.Scheme == SchemeRule {
				rules = append(rules, t)
			}
		}
		if len(tags) < page {
			return rules, nil
		}
		after = tags[len(tags)-1].Name
	}
}

const maxIDLength = 100 // characters

// Explain returns the readings of an id, without any query. rules are the tags with rules.
func Explain(text, scheme string, rules []Tag, now time.Time) ([]*idv1.Reading, error) {
	if text == "" || len(text) > maxIDLength {
		return nil, errBadID("an id has 1 to %d characters", maxIDLength)
	}
	if scheme != "" && !slices.Contains(Schemes(), scheme) {
		return nil, errs.New(errs.Invalid, "bad_scheme", "a scheme is one of "+strings.Join(Schemes(), ", "))
	}
	e := explainer{text: text, scheme: scheme, now: now}
	for _, t := range rules {
		e.rule(t)
	}
	switch {
	case len(e.readings) == 0 && (scheme == SchemeRule):
		e.refuse(errBadID("no tag here has a rule that produces such an id"))
	case e.wants(SchemeReadable, len(text) == 19 && strings.Contains(text, "-")):
		e.readable()
	case e.wants(SchemeUUIDv7, len(text) == 36):
		e.uuid()
	case e.wants(SchemeULID, len(text) == 26):
		e.ulid()
	case scheme != SchemeRule:
		e.number()
	}
	if len(e.readings) == 0 {
		return nil, e.fault
	}
	slices.SortStableFunc(e.readings, func(a, b *idv1.Reading) int { return cmp.Compare(min(len(a.Doubt), 1), min(len(b.Doubt), 1)) })
	return e.readings, nil
}

func errBadID(format string, args ...any) error {
	return errs.New(errs.Invalid, "bad_id", fmt.Sprintf(format, args...))
}

// explainer collects the readings of one text.
type explainer struct {
	text, scheme string
	now          time.Time
	readings     []*idv1.Reading
	fault        error // the first error, if there is no reading
}

// wants reports whether to try a scheme: it was requested, or none was and the text looks like it.
func (e *explainer) wants(scheme string, looks bool) bool {
	return e.scheme == scheme || e.scheme == "" && looks
}

func (e *explainer) refuse(err error) {
	if e.fault == nil {
		e.fault = err
	}
}

// add adds a reading; parts are names and values in turn.
func (e *explainer) add(scheme string, made time.Time, doubt string, parts ...any) {
	r := &idv1.Reading{Scheme: scheme, Doubt: doubt}
	if !made.IsZero() {
		r.TimeMs = made.UnixMilli()
		r.Parts = append(r.Parts, &idv1.Part{Name: "time", Value: made.UTC().Format("2006-01-02T15:04:05.000Z")})
		if doubt == "" && made.After(e.now.Add(time.Minute)) {
			r.Doubt = "its time lies in the future"
		}
	}
	for i := 0; i < len(parts); i += 2 {
		r.Parts = append(r.Parts, &idv1.Part{Name: fmt.Sprint(parts[i]), Value: fmt.Sprint(parts[i+1])})
	}
	e.readings = append(e.readings, r)
}

func (e *explainer) rule(t Tag) {
	p, err := t.Rule.Parse(e.text)
	if err != nil {
		if t.Rule.Prefix != "" && strings.HasPrefix(e.text, t.Rule.Prefix) { // it was meant
			e.refuse(err)
		}
		return
	}
	parts := []any{"tag", t.Name, "prefix", p.Prefix}
	if !p.Day.IsZero() {
		parts = append(parts, "day", p.Day.Format(time.DateOnly), "zone", cmp.Or(t.Rule.Zone, "UTC"))
	}
	e.add(SchemeRule, time.Time{}, "", append(parts, "number", p.Number)...)
}

func (e *explainer) readable() {
	m, err := id.ParseMessage(e.text)
	if err != nil {
		e.refuse(errBadID("%v", err))
		return
	}
	e.add(SchemeReadable, m.Time(), "", "spin", m.Spin(), "type", m.Type(), "conversation, low 22 bits", m.Low22())
}

func (e *explainer) uuid() {
	_, p, err := ids.ParseUUIDv7(e.text)
	if err != nil {
		e.refuse(errBadID("%v", err))
		return
	}
	e.add(SchemeUUIDv7, p.Time, "", "count", p.Count, "random", p.Random)
}

func (e *explainer) ulid() {
	_, p, err := ids.ParseULID(e.text)
	if err != nil {
		e.refuse(errBadID("%v", err))
		return
	}
	e.add(SchemeULID, p.Time, "", "count", p.Count, "random", p.Random)
}

// A count beyond this is rare, and a time-ordered number below it was made in the first minutes of its epoch.
const maxPlausibleCount = 1 << 40

// number adds the readings of a number.
func (e *explainer) number() {
	v, err := number(e.text)
	if err != nil {
		e.refuse(err)
		return
	}
	timely, counted := "", "such a large number is rarely a count"
	if v < maxPlausibleCount {
		timely, counted = "such a small number is more likely a count", ""
	}
	if e.scheme != "" {
		timely, counted = "", ""
	}
	counts := []string{SchemeSegment, SchemeSequence, SchemeMultiPrimary, SchemeRedis}
	for _, scheme := range counts {
		if e.wants(scheme, scheme != SchemeRedis) { // few deployments have such numbers: explained only on request
			e.add(scheme, time.Time{}, counted, "number", v)
		}
	}
	if p, err := ids.ParseSnowflake(v); e.wants(SchemeSnowflake, err == nil) {
		e.add(SchemeSnowflake, p.Time, timely, "datacenter", p.Datacenter, "worker", p.Worker, "sequence", p.Sequence)
	}
	if p, err := ids.ParseSonyflake(v); e.wants(SchemeSonyflake, err == nil) {
		e.add(SchemeSonyflake, p.Time, timely, "sequence", p.Sequence, "machine", p.Machine)
	}
}

// number reads decimal digits.
func number(text string) (uint64, error) {
	for i, c := range text { // by characters, because the invalid one may have many bytes
		if c < '0' || c > '9' {
			at := len([]rune(text[:i])) + 1
			return 0, errBadID("character %d is %q, not a digit; an id is a number, or has the 19, 26 or 36 characters of a readable id, a ULID or a UUID, or is produced by a tag's rule", at, c)
		}
	}
	v, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return 0, errBadID("%s is more than the largest id, 9223372036854775807", text)
	}
	if v == 0 {
		return 0, errBadID("0 is not an id")
	}
	return v, nil
}
