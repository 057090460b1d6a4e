package idservice

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"time"
	_ "time/tzdata" // a container may lack the time zones

	"github.com/rialto-im/rialto/internal/base/errs"
)

// Rule is the format of ids such as order numbers: a prefix, a day, and a number of that day.
type Rule struct {
	// Prefix of at most 32 characters of A-Z, a-z, 0-9, "_", "-", "." and "/".
	Prefix string
	// Date is the format of the day: "YYYYMMDD", "YYYY-MM-DD", "YYMMDD" or "YYDDD" (with the day of the year). "" is no day: then the
	// number never restarts.
	Date string
	// Zone in which days begin at midnight, such as "Asia/Shanghai". "": UTC.
	Zone string
	// Digits of the number, 1 to 18, padded with zeros.
	Digits int
}

// layouts of dates that are unique for each day; those with two-digit years for a century.
var layouts = map[string]string{"": "", "YYYYMMDD": "20060102", "YYYY-MM-DD": "2006-01-02", "YYMMDD": "060102", "YYDDD": "06002"}

var prefix = regexp.MustCompile(`^[A-Za-z0-9_./-]{0,32}$`)

func (r Rule) check() error {
	_, known := layouts[r.Date]
	switch {
	case !prefix.MatchString(r.Prefix):
		return errBadTag("a rule's prefix has at most 32 characters of A-Z, a-z, 0-9, _, -, . and /")
	case !known:
		return errBadTag("a rule's date is YYYYMMDD, YYYY-MM-DD, YYMMDD or YYDDD, or empty")
	case r.Digits < 1 || r.Digits > 18:
		return errBadTag("a rule's number has 1 to 18 digits")
	}
	if _, err := r.location(); err != nil {
		return errBadTag("a rule's zone is an IANA time zone such as Asia/Shanghai, or empty for UTC")
	}
	return nil
}

func (r Rule) location() (*time.Location, error) {
	if r.Zone == "Local" { // it differs between nodes
		return nil, fmt.Errorf("no zone is called %s", r.Zone)
	}
	return time.LoadLocation(r.Zone)
}

// most is the largest number with these digits.
func (r Rule) most() uint64 { return uint64(math.Pow10(r.Digits)) - 1 }

func (r Rule) length() int { return len(r.Prefix) + len(r.Date) + r.Digits }

// Append appends the id of a number to b. date has the rule's format, and the number has at most the rule's digits.
func (r Rule) Append(b []byte, date string, n uint64) []byte {
	b = append(b, r.Prefix...)
	b = append(b, date...)
	number := strconv.FormatUint(n, 10)
	for range r.Digits - len(number) {
		b = append(b, '0')
	}
	return append(b, number...)
}

// RuleParts are the parts of an id of a rule.
type RuleParts struct {
	Prefix string
	Day    time.Time // the start of the day in the rule's zone; zero without a date
	Number uint64
}

// Parse parses an id of the rule. The error names the first invalid character, counted from 1.
func (r Rule) Parse(text string) (RuleParts, error) {
	bad := func(at int, want string) (RuleParts, error) {
		return RuleParts{}, errs.New(errs.Invalid, "bad_id", fmt.Sprintf("character %d of %q is not %s", at+1, text, want))
	}
	if len(text) != r.length() {
		return RuleParts{}, errs.New(errs.Invalid, "bad_id", fmt.Sprintf("an id of this rule has %d characters, not %d", r.length(), len(text)))
	}
	for i := range len(r.Prefix) {
		if text[i] != r.Prefix[i] {
			return bad(i, "as in the prefix "+r.Prefix)
		}
	}
	p := RuleParts{Prefix: r.Prefix}
	at := len(r.Prefix)
	if r.Date != "" {
		zone, err := r.location()
		if err != nil {
			return p, err
		}
		date := text[at : at+len(r.Date)]
		day, err := time.Parse(layouts[r.Date], date) // in UTC: in some zones, some days have no midnight
		if err != nil || day.Format(layouts[r.Date]) != date {
			return bad(at, "the first of a date "+r.Date)
		}
		p.Day = time.Date(day.Year(), day.Month(), day.Day(), 0, 0, 0, 0, zone)
		at += len(r.Date)
	}
	for i := at; i < len(text); i++ {
		if text[i] < '0' || text[i] > '9' {
			return bad(i, "a digit")
		}
	}
	n, err := strconv.ParseUint(text[at:], 10, 64)
	if err != nil || n == 0 {
		return bad(len(text)-1, "the end of a number from 1")
	}
	p.Number = n
	return p, nil
}
