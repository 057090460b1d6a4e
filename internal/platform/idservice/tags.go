package idservice

import (
	"context"
	"database/sql"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/base/errs"
)

// The schemes' names.
const (
	SchemeSnowflake    = "snowflake"
	SchemeSonyflake    = "sonyflake"
	SchemeSegment      = "segment"
	SchemeMultiPrimary = "multiprimary"
	SchemeSequence     = "sequence"
	SchemeReadable     = "readable"
	SchemeUUIDv7       = "uuidv7"
	SchemeULID         = "ulid"
	SchemeRule         = "rule"
	SchemeRedis        = "redis"
)

// Schemes returns all names.
func Schemes() []string {
	return []string{SchemeSnowflake, SchemeSonyflake, SchemeSegment, SchemeMultiPrimary, SchemeSequence, SchemeReadable, SchemeUUIDv7, SchemeULID, SchemeRule, SchemeRedis}
}

// Tag is a business tag: whose ids they are, and how they are issued. Scheme, SectionKeys and Rule never change, even if the tag is deleted
// and created again. An id issued under a tag is never issued again.
type Tag struct {
	// Name of 1 to 64 characters of a-z, 0-9, "_", "-" and ".".
	Name string
	// Scheme is one of Schemes.
	Scheme string
	// Description of at most 500 characters.
	Description string
	// Step is how many numbers are reserved in the store at once, 1 to 10,000,000; for segments it is the minimum. 0 means 1,000, or 10,000
	// for sequences and 100 for rules. For the scheme redis it is by how much the bound is raised at once; 0 means 10,000.
	Step uint64
	// Maximum is the last number of a segment, of each key of a sequence, or of a rule's day, at most 2^63-1, which is the default (0). For
	// the scheme redis it is at most 2^53-1.
	Maximum uint64
	// SectionKeys is how many adjacent keys of a sequence share a bound, 1,000 to 1,000,000. 0: 100,000.
	SectionKeys uint64
	// Rule is the format of a rule's ids.
	Rule Rule
	// Last is the last number of a segment that a node has reserved. PutTag can only raise it: numbers of the segment, or of each key of
	// the sequence, up to it then count as issued, for example after the database was restored from a backup. Running nodes issue their
	// reserves of a segment first.
	Last uint64
}

const (
	maxTags        = 10_000 // including deleted ones
	maxStep        = 10_000_000
	maxDescription = 500
)

var tagName = regexp.MustCompile(`^[a-z0-9_.-]{1,64}$`)

func errBadTag(message string) error { return errs.New(errs.Invalid, "bad_tag", message) }

func decimal(n uint64) string { return strconv.FormatUint(n, 10) }

// complete returns the tag with defaults in place of 0, or an error if it is invalid.
func (t Tag) complete() (Tag, error) {
	steps := map[string]uint64{SchemeSequence: 10_000, SchemeRule: 100, SchemeRedis: 10_000}
	most := uint64(maxNumber)
	if t.Scheme == SchemeRedis {
		most = maxRedisNumber
	}
	switch {
	case !tagName.MatchString(t.Name):
		return t, errBadTag("a tag's name has 1 to 64 characters of a-z, 0-9, _, - and .")
	case !slices.Contains(Schemes(), t.Scheme):
		return t, errBadTag("a tag's scheme is one of " + strings.Join(Schemes(), ", "))
	case !utf8.ValidString(t.Description) || strings.Contains(t.Description, "\x00") || utf8.RuneCountInString(t.Description) > maxDescription:
		return t, errBadTag("a tag's description is a text of at most 500 characters")
	case t.Step > maxStep:
		return t, errBadTag("a tag's step is 1 to 10,000,000")
	case t.Maximum > most:
		return t, errBadTag("a tag's maximum is at most 9,223,372,036,854,775,807, and of the scheme redis 9,007,199,254,740,991")
	case t.Last > 0 && t.Scheme != SchemeSegment && t.Scheme != SchemeSequence:
		return t, errBadTag("only a segment or a sequence can be raised above issued numbers")
	case t.SectionKeys != 0 && (t.Scheme != SchemeSequence || t.SectionKeys < 1000 || t.SectionKeys > 1_000_000):
		return t, errBadTag("a section has 1,000 to 1,000,000 keys; only sequences have sections")
	case t.Scheme != SchemeRule && t.Rule != Rule{}:
		return t, errBadTag("only a tag of the scheme rule has a rule")
	}
	if t.Step == 0 {
		t.Step = max(steps[t.Scheme], 1)
		if t.Scheme == SchemeSegment {
			t.Step = 1000
		}
	}
	if t.Maximum == 0 {
		t.Maximum = most
	}
	if t.Scheme == SchemeSequence && t.SectionKeys == 0 {
		t.SectionKeys = 100_000
	}
	if t.Last > t.Maximum {
		return t, errBadTag("a tag's maximum must not be below its last number")
	}
	if t.Scheme == SchemeRule {
		return t, t.Rule.check()
	}
	return t, nil
}

// Tags keeps the tags in the record store. It is safe for concurrent use.
type Tags struct{ store counters }

// NewTags creates missing tables.
func NewTags(ctx context.Context, deps CounterDeps) (*Tags, error) {
	store, err := openCounters(ctx, deps.DB)
	return &Tags{store}, err
}

const tagColumns = `name, scheme, description, step, maximum, section_keys, prefix, layout, zone, digits, last, deleted`

type row interface{ Scan(into ...any) error }

func scanTag(r row) (t Tag, deleted bool, err error) {
	var step, maximum, keys, digits, last int64
	err = r.Scan(&t.Name, &t.Scheme, &t.Description, &step, &maximum, &keys, &t.Rule.Prefix, &t.Rule.Date, &t.Rule.Zone, &digits, &last, &deleted)
	t.Step, t.Maximum, t.SectionKeys, t.Rule.Digits, t.Last = uint64(step), uint64(maximum), uint64(keys), int(digits), uint64(last)
	return t, deleted, err
}

func errNoTag(name string) error {
	return errs.New(errs.NotFound, "no_tag", "there is no tag "+strconv.Quote(name)+"; create it first")
}

// liveTag reads a tag of a scheme in a transaction.
func liveTag(ctx context.Context, tx *sql.Tx, name, scheme string) (Tag, error) {
	if !tagName.MatchString(name) {
		return Tag{}, errNoTag(name)
	}
	t, deleted, err := scanTag(tx.QueryRowContext(ctx, `SELECT `+tagColumns+` FROM id_tags WHERE name = $1`, name))
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return t, err // unchanged: the store recognizes conflicts by it
	}
	return checkLive(t, deleted, err, name, scheme)
}

// GetTag returns a tag, or NotFound.
func (s *Tags) GetTag(ctx context.Context, name string) (Tag, error) {
	return s.store.tag(ctx, name, "")
}

// ListTags returns a page of at most limit tags by name, those after a name.
func (s *Tags) ListTags(ctx context.Context, after string, limit int) (tags []Tag, err error) {
	if limit < 1 || limit > 1000 || after != "" && !tagName.MatchString(after) {
		return nil, errs.New(errs.Invalid, "bad_tag_page", "a page has 1 to 1,000 tags, and begins after the name of one")
	}
	rows, err := s.store.db.Read().QueryContext(ctx, `SELECT `+tagColumns+` FROM id_tags WHERE name > $1 AND NOT deleted ORDER BY name LIMIT $2`, after, limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		t, _, err := scanTag(rows)
		if err != nil {
			return nil, err
		}
		tags = append(tags, t)
	}
	return tags, rows.Err()
}

// PutTag creates a tag, or changes its description, step and maximum, and returns what is stored. A maximum below issued numbers is refused.
func (s *Tags) PutTag(ctx context.Context, t Tag) (Tag, error) {
	t, err := t.complete()
	if err != nil {
		return Tag{}, err
	}
	err = s.store.db.Write(ctx, func(tx *sql.Tx) error {
		old, _, err := scanTag(tx.QueryRowContext(ctx, `SELECT `+tagColumns+` FROM id_tags WHERE name = $1`, t.Name))
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return insertTag(ctx, tx, t)
		case err != nil:
			return err
		case old.Scheme != t.Scheme || old.SectionKeys != t.SectionKeys || old.Rule != t.Rule:
			return errs.New(errs.Conflict, "tag_fixed", "a tag of this name is, or was, of scheme "+old.Scheme+"; scheme, section and rule of a tag never change: choose another name")
		}
		last := max(t.Last, old.Last)
		if t.Maximum < last {
			return errBadTag("numbers up to " + decimal(last) + " are issued; the maximum cannot be below")
		}
		if last > old.Last {
			if err := revokeSections(ctx, tx, t.Name); err != nil {
				return err
			}
		}
		t.Last = last
		_, err = tx.ExecContext(ctx, `UPDATE id_tags SET description = $1, step = $2, maximum = $3, deleted = FALSE, last = $4 WHERE name = $5`,
			t.Description, int64(t.Step), int64(t.Maximum), int64(t.Last), t.Name)
		return err
	})
	if err != nil {
		return Tag{}, err
	}
	return t, nil
}

func insertTag(ctx context.Context, tx *sql.Tx, t Tag) error {
	var count int
	if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM id_tags`).Scan(&count); err != nil {
		return err
	}
	if count >= maxTags {
		return errs.New(errs.Exhausted, "tags_full", "there are 10,000 tags, the maximum, including deleted ones; use existing tags")
	}
	if t.Scheme == SchemeRule {
		if err := checkOverlap(ctx, tx, t.Rule); err != nil {
			return err
		}
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO id_tags (`+tagColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, FALSE)`,
		t.Name, t.Scheme, t.Description, int64(t.Step), int64(t.Maximum), int64(t.SectionKeys), t.Rule.Prefix, t.Rule.Date, t.Rule.Zone, t.Rule.Digits, int64(t.Last))
	return err
}

// checkOverlap rejects a rule whose ids could equal those of another tag. This includes deleted tags, whose ids are still in
// use.
func checkOverlap(ctx context.Context, tx *sql.Tx, r Rule) error {
	rows, err := tx.QueryContext(ctx, `SELECT `+tagColumns+` FROM id_tags WHERE scheme = $1`, SchemeRule)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		o, _, err := scanTag(rows)
		if err != nil {
			return err
		}
		if o.Rule.length() == r.length() && (strings.HasPrefix(r.Prefix, o.Rule.Prefix) || strings.HasPrefix(o.Rule.Prefix, r.Prefix)) {
			return errs.New(errs.Conflict, "rule_taken", "ids of this rule could equal those of the tag "+strconv.Quote(o.Name)+"; choose another prefix or length")
		}
	}
	return rows.Err()
}

// DeleteTag deletes a tag. A node continues to issue its reserve until Forget is called there. The tag can be created again, and continues
// where it stopped.
func (s *Tags) DeleteTag(ctx context.Context, name string) error {
	if !tagName.MatchString(name) {
		return errNoTag(name)
	}
	return s.store.db.Write(ctx, func(tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, `UPDATE id_tags SET deleted = TRUE WHERE name = $1 AND NOT deleted`, name)
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, errNoTag(name))
		}
		return revokeSections(ctx, tx, name)
	})
}

// revokeSections ends the terms of a sequence's sections. Their owners cannot raise bounds any more, and read the tag again.
func revokeSections(ctx context.Context, tx *sql.Tx, name string) error {
	return sections.Revoke(ctx, tx, name)
}
