package idgen

import (
	"context"
	"database/sql"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/errs"
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
)

// Schemes gives all names.
func Schemes() []string {
	return []string{SchemeSnowflake, SchemeSonyflake, SchemeSegment, SchemeMultiPrimary, SchemeSequence, SchemeReadable, SchemeUUIDv7, SchemeULID, SchemeRule}
}

// Tag is a business tag: whose ids they are, and how they are made. Scheme, SectionKeys and Rule never change, also not when the
// tag is deleted and made anew; what was given under a tag is never given again.
type Tag struct {
	// Name of 1 to 64 characters of a-z, 0-9, "_", "-" and ".".
	Name string
	// Scheme is one of Schemes.
	Scheme string
	// Description of at most 500 characters.
	Description string
	// Step is how many numbers are taken from the store at once, 1 to 10,000,000; a segment's least. 0: 1,000, of sequences
	// 10,000, of rules 100.
	Step uint64
	// Maximum is the last number of a segment, of each key of a sequence, or of a rule's day, at most 2^63-1, which 0 stands for.
	Maximum uint64
	// SectionKeys is how many adjacent keys of a sequence share a bound, 1,000 to 1,000,000. 0: 100,000.
	SectionKeys uint64
	// Rule is the form of a rule's ids.
	Rule Rule
	// Last number that a node has taken of a segment. Put, it only rises: numbers of the segment, or of each key of the
	// sequence, up to it are taken as given, as after the records were restored from a backup. A segment's reserves on nodes that
	// run are given first.
	Last uint64
}

const (
	tagsMost        = 10_000 // with those that were deleted
	stepMost        = 10_000_000
	descriptionMost = 500
)

var tagName = regexp.MustCompile(`^[a-z0-9_.-]{1,64}$`)

func badTag(message string) error { return errs.New(errs.Invalid, "bad_tag", message) }

func decimal(n uint64) string { return strconv.FormatUint(n, 10) }

// complete gives the tag with what stands for 0, or tells what is wrong with it.
func (t Tag) complete() (Tag, error) {
	steps := map[string]uint64{SchemeSequence: 10_000, SchemeRule: 100}
	switch {
	case !tagName.MatchString(t.Name):
		return t, badTag("a tag's name has 1 to 64 characters of a-z, 0-9, _, - and .")
	case !slices.Contains(Schemes(), t.Scheme):
		return t, badTag("a tag's scheme is one of " + strings.Join(Schemes(), ", "))
	case !utf8.ValidString(t.Description) || strings.Contains(t.Description, "\x00") || utf8.RuneCountInString(t.Description) > descriptionMost:
		return t, badTag("a tag's description is a text of at most 500 characters")
	case t.Step > stepMost:
		return t, badTag("a tag's step is 1 to 10,000,000")
	case t.Maximum > most:
		return t, badTag("a tag's maximum is at most 9,223,372,036,854,775,807")
	case t.Last > 0 && t.Scheme != SchemeSegment && t.Scheme != SchemeSequence:
		return t, badTag("only a segment, or a sequence, is put past numbers that were given")
	case t.SectionKeys != 0 && (t.Scheme != SchemeSequence || t.SectionKeys < 1000 || t.SectionKeys > 1_000_000):
		return t, badTag("a section has 1,000 to 1,000,000 keys; only sequences have sections")
	case t.Scheme != SchemeRule && t.Rule != Rule{}:
		return t, badTag("only a tag of the scheme rule has a rule")
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
		return t, badTag("a tag's maximum is not below its last number")
	}
	if t.Scheme == SchemeRule {
		return t, t.Rule.check()
	}
	return t, nil
}

// Tags keeps the tags in the record store. Its methods may be called from many goroutines.
type Tags struct{ store counters }

// NewTags makes the tables where they are missing.
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

func noTag(name string) error {
	return errs.New(errs.NotFound, "no_tag", "there is no tag "+strconv.Quote(name)+"; make it first")
}

// liveTag reads a tag of a scheme in a transaction.
func liveTag(ctx context.Context, tx *sql.Tx, name, scheme string) (Tag, error) {
	if !tagName.MatchString(name) {
		return Tag{}, noTag(name)
	}
	t, deleted, err := scanTag(tx.QueryRowContext(ctx, `SELECT `+tagColumns+` FROM id_tags WHERE name = $1`, name))
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return t, err // as it is: the store looks for conflicts in it
	}
	return live(t, deleted, err, name, scheme)
}

// GetTag gives a tag, or NotFound.
func (s *Tags) GetTag(ctx context.Context, name string) (Tag, error) {
	return s.store.tag(ctx, name, "")
}

// ListTags gives a page of at most limit tags by name, those after a name.
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

// PutTag makes a tag, or changes description, step and maximum of one, and gives what is stored. A maximum below what was given
// is refused.
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
			return errs.New(errs.Conflict, "tag_fixed", "a tag of this name is, or was, of scheme "+old.Scheme+"; scheme, section and rule of a tag never change: take another name")
		}
		last := max(t.Last, old.Last)
		if t.Maximum < last {
			return badTag("numbers up to " + decimal(last) + " are given; the maximum cannot be below")
		}
		if last > old.Last {
			if err := disown(ctx, tx, t.Name); err != nil {
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
	if count >= tagsMost {
		return errs.New(errs.Exhausted, "tags_full", "there are 10,000 tags, with those that were deleted; use those that there are")
	}
	if t.Scheme == SchemeRule {
		if err := apart(ctx, tx, t.Rule); err != nil {
			return err
		}
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO id_tags (`+tagColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, FALSE)`,
		t.Name, t.Scheme, t.Description, int64(t.Step), int64(t.Maximum), int64(t.SectionKeys), t.Rule.Prefix, t.Rule.Date, t.Rule.Zone, t.Rule.Digits, int64(t.Last))
	return err
}

// apart refuses a rule whose texts another tag's could equal, also one's that was deleted: its numbers are still about.
func apart(ctx context.Context, tx *sql.Tx, r Rule) error {
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
			return errs.New(errs.Conflict, "rule_taken", "ids of this rule could equal those of the tag "+strconv.Quote(o.Name)+"; take another prefix or length")
		}
	}
	return rows.Err()
}

// DeleteTag ends a tag. A node goes on giving what it holds in reserve of it, unless it is told to Forget it. The tag can be made
// anew, and goes on where it was.
func (s *Tags) DeleteTag(ctx context.Context, name string) error {
	if !tagName.MatchString(name) {
		return noTag(name)
	}
	return s.store.db.Write(ctx, func(tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, `UPDATE id_tags SET deleted = TRUE WHERE name = $1 AND NOT deleted`, name)
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, noTag(name))
		}
		return disown(ctx, tx, name)
	})
}

// disown ends the terms of a sequence's sections: their owners cannot raise bounds any more, and look at the tag again.
func disown(ctx context.Context, tx *sql.Tx, name string) error {
	_, err := tx.ExecContext(ctx, `UPDATE id_sections SET term = term + 1, holder = '' WHERE tag = $1`, name)
	return err
}
