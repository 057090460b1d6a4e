package moderation

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/base/wordfilter"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/auditlog"
	moderationv1 "github.com/rialto-im/rialto/sdk/go/gen/moderation/v1"
	"google.golang.org/protobuf/proto"
)

const maxListName = 64 // characters

var (
	errRefusedWord  = errs.New(errs.Denied, "refused_by_rules", "this text has a word that is not allowed here")
	errBadList      = errs.New(errs.Invalid, "bad_words", fmt.Sprintf("a word list has a name of 1 to %d characters in one line, and each of its words an action", maxListName))
	errNoList       = errs.New(errs.NotFound, "no_word_list", "there is no such word list")
	errListChanged  = errs.New(errs.Conflict, "changed_meanwhile", "this word list was changed meanwhile; read it again")
	errTooManyWords = errs.New(errs.Exhausted, "too_many_words", "all word lists together have at most 10,000 words, and 100,000 bytes")
)

// wordState is never changed, only replaced.
type wordState struct {
	filter   *wordfilter.Filter
	words    []*moderationv1.ListedWord // by their index in filter
	versions map[string]uint32          // of the lists
}

// HasWords reports whether there are any words. It does not block.
func (s *Service) HasWords() bool {
	state := s.words.Load()
	return state != nil && state.filter != nil
}

// CheckText fails if texts have a word of a list that refuses, and returns a word that puts them into the queue, or "". It does not block.
func (s *Service) CheckText(texts ...string) (flagged string, err error) {
	state := s.words.Load()
	if state == nil {
		return "", nil
	}
	for _, text := range texts {
		state.filter.Find(text, func(n int) bool {
			w := state.words[n]
			if w.Action == moderationv1.WordAction_WORD_ACTION_REFUSE {
				err = errRefusedWord
				return false
			}
			if flagged == "" {
				flagged = w.Text
			}
			return true
		})
		if err != nil {
			return "", err
		}
	}
	return flagged, nil
}

// reloadWords reads the lists again, if one has changed.
func (s *Service) reloadWords(ctx context.Context) error {
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT name, version FROM moderation_word_lists`)
	versions, err := sqldb.Pairs[string, uint32](rows, err)
	if err != nil {
		return err
	}
	was := s.words.Load()
	if was == nil && len(versions) == 0 || was != nil && maps.Equal(was.versions, versions) {
		return nil
	}
	fresh := &wordState{versions: map[string]uint32{}}
	lists, err := readLists(ctx, s.deps.DB.Read())
	if err != nil {
		return err
	}
	for _, l := range lists {
		fresh.versions[l.Name] = l.Version
		fresh.words = append(fresh.words, l.Words...)
	}
	if fresh.filter, err = filterOf(fresh.words); err != nil {
		return err
	}
	s.words.Store(fresh)
	return nil
}

func filterOf(list []*moderationv1.ListedWord) (*wordfilter.Filter, error) {
	searched := make([]wordfilter.Word, len(list))
	for i, w := range list {
		searched[i] = wordfilter.Word{Text: w.Text, Whole: w.Whole}
	}
	return wordfilter.New(searched)
}

func scanList(scan func(...any) error) (*moderationv1.WordList, error) {
	l, words := &moderationv1.WordList{}, []byte(nil)
	if err := scan(&l.Name, &l.Version, &words, &l.ChangedMs, &l.ChangedBy); err != nil {
		return nil, err
	}
	stored := &moderationv1.WordList{}
	err := proto.Unmarshal(words, stored)
	l.Words, l.Count = stored.Words, uint32(len(stored.Words))
	return l, err
}

const listColumns = `name, version, words, changed_ms, changed_by`

func readLists(ctx context.Context, q sqldb.Reader) ([]*moderationv1.WordList, error) {
	rows, err := q.QueryContext(ctx, `SELECT `+listColumns+` FROM moderation_word_lists ORDER BY name`)
	return sqldb.Collect(rows, err, scanList)
}

// ListWordLists gives the lists without their words.
func (s *Service) ListWordLists(ctx context.Context, _ id.Caller, _ *moderationv1.ListWordListsRequest) (*moderationv1.ListWordListsResponse, error) {
	lists, err := readLists(ctx, s.deps.DB.Read())
	lists = slices.DeleteFunc(lists, func(l *moderationv1.WordList) bool { return l.Count == 0 })
	for _, l := range lists {
		l.Words = nil
	}
	return &moderationv1.ListWordListsResponse{Lists: lists}, err
}

// GetWordList gives a list with its words.
func (s *Service) GetWordList(ctx context.Context, _ id.Caller, r *moderationv1.GetWordListRequest) (*moderationv1.WordList, error) {
	if !isListName(r.Name) {
		return nil, errNoList
	}
	l, err := scanList(s.deps.DB.Read().QueryRowContext(ctx, `SELECT `+listColumns+` FROM moderation_word_lists WHERE name = $1`, r.Name).Scan)
	if errors.Is(err, sql.ErrNoRows) || err == nil && l.Count == 0 {
		err = errNoList
	}
	if err != nil {
		return nil, err
	}
	return l, nil
}

func isListName(name string) bool {
	return name != "" && message.IsText(name, maxListName, message.IsLine)
}

func checkList(r *moderationv1.PutWordListRequest) error {
	if !isListName(r.Name) {
		return errBadList
	}
	for i, w := range r.Words {
		if w.GetAction() != moderationv1.WordAction_WORD_ACTION_REFUSE && w.GetAction() != moderationv1.WordAction_WORD_ACTION_QUEUE {
			return errBadList
		}
		if err := wordfilter.Check(w.Text); err != nil {
			return errs.New(errs.Invalid, "bad_words", fmt.Sprintf("word %d %v", i+1, err))
		}
	}
	return checkTexts(r.Note)
}

// stateOfList is a list in the audit log: how many words it has, and those that another version does not have, as the change says of them.
func stateOfList(l, other *moderationv1.WordList, change string) string {
	key := func(w *moderationv1.ListedWord) string {
		text := strconv.Quote(w.Text) + " (" + strings.ToLower(strings.TrimPrefix(w.Action.String(), "WORD_ACTION_"))
		if w.Whole {
			text += ", whole"
		}
		return text + ")"
	}
	has := map[string]bool{}
	for _, w := range other.Words {
		has[key(w)] = true
	}
	var only []string
	for _, w := range l.Words {
		if k := key(w); !has[k] {
			only = append(only, k)
		}
	}
	text := strconv.Itoa(int(l.Count)) + " words, version " + strconv.Itoa(int(l.Version))
	if len(only) > 0 {
		text += "; " + change + ": " + strings.Join(only, ", ")
	}
	return text
}

// PutWordList replaces a list. Its transaction reads all others, so that they do not exceed the limits together.
func (s *Service) PutWordList(ctx context.Context, c id.Caller, r *moderationv1.PutWordListRequest) (*moderationv1.WordList, error) {
	if err := checkList(r); err != nil {
		return nil, err
	}
	stored, err := proto.Marshal(&moderationv1.WordList{Words: r.Words})
	if err != nil {
		return nil, err
	}
	var l *moderationv1.WordList
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		lists, err := readLists(ctx, tx)
		if err != nil {
			return err
		}
		l = &moderationv1.WordList{Name: r.Name, Version: 1, Words: r.Words, Count: uint32(len(r.Words)), ChangedMs: s.nowMs(), ChangedBy: c.Key}
		before, all := &moderationv1.WordList{}, r.Words
		for _, other := range lists {
			if other.Name == r.Name {
				before = other
			} else {
				all = append(all[:len(all):len(all)], other.Words...)
			}
		}
		if before.Version != r.Version && (r.Version != 0 || before.Count != 0) { // one that was deleted is new
			return errListChanged
		}
		l.Version = before.Version + 1
		if !fit(all) {
			return errTooManyWords
		}
		_, stores := tx.ExecContext(ctx, `INSERT INTO moderation_word_lists (name, version, words, changed_ms, changed_by) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (name) DO UPDATE SET version = $2, words = $3, changed_ms = $4, changed_by = $5`, l.Name, int64(l.Version), stored, l.ChangedMs, l.ChangedBy)
		if err := errors.Join(stores, s.addEvent(ctx, tx)); err != nil {
			return err
		}
		return s.audit(ctx, tx, c, auditlog.Entry{Action: "words.put", Subject: l.Name, Before: stateOfList(before, l, "removed"), After: stateOfList(l, before, "added"), Reason: r.Note})
	})
	if err != nil {
		return nil, err
	}
	s.changed()
	return l, nil
}

// fit reports whether a filter can have some words.
func fit(list []*moderationv1.ListedWord) bool {
	size := 0
	for _, w := range list {
		size += wordfilter.Size(w.Text)
	}
	return len(list) <= wordfilter.MaxWords && size <= wordfilter.MaxBytes
}
