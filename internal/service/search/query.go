package search

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/base/errs"
	searchv1 "github.com/rialto-im/rialto/sdk/go/gen/search/v1"
)

const (
	maxQuery = 256 // characters
	maxWords = 16
	maxFrom  = 20
)

// query is a request whose text is parsed.
type query struct {
	phrases      []string // words, and quoted texts
	kinds        []searchv1.HitKind
	from         []uint64
	fromHandles  []string // without "@"; "me" is the reader
	in           uint64
	inHandle     string
	after, until int64 // until is exclusive; 0: no bound
	link         bool
	types        []searchv1.FileType // of files
}

func badQuery(message string) error { return errs.New(errs.Invalid, "bad_query", message) }

// parse reads the text of a request and adds its fields.
func parse(r *searchv1.SearchRequest) (*query, error) {
	if utf8.RuneCountInString(r.Query) > maxQuery {
		return nil, badQuery("a query has at most 256 characters")
	}
	if !utf8.ValidString(r.Query) || strings.ContainsRune(r.Query, 0) {
		return nil, badQuery("a query is valid UTF-8 without U+0000")
	}
	if len(r.From) > maxFrom {
		return nil, badQuery("give at most 20 users in from")
	}
	if r.BeforeMs < 0 || r.AfterMs < 0 {
		return nil, badQuery("before_ms and after_ms are milliseconds since 1970, or 0")
	}
	q := &query{in: r.Conversation, after: r.AfterMs, until: r.BeforeMs, link: r.HasLink, from: append([]uint64(nil), r.From...)}
	for _, k := range r.Kinds {
		if searchv1.HitKind_name[int32(k)] != "" && k != searchv1.HitKind_HIT_KIND_UNSPECIFIED {
			q.kinds = append(q.kinds, k)
		}
	}
	if len(r.Kinds) > 0 && len(q.kinds) == 0 {
		return nil, badQuery("kinds has only kinds that this server does not know")
	}
	for _, t := range r.FileTypes {
		if searchv1.FileType_name[int32(t)] != "" && t != searchv1.FileType_FILE_TYPE_UNSPECIFIED && !slices.Contains(q.types, t) {
			q.types = append(q.types, t)
		}
	}
	if len(r.FileTypes) > 0 && len(q.types) == 0 {
		return nil, badQuery("file_types has only types that this server does not know")
	}
	for _, part := range split(r.Query) {
		if part.quoted || !strings.Contains(part.text, ":") {
			q.phrases = append(q.phrases, part.text)
			continue
		}
		name, value, _ := strings.Cut(part.text, ":")
		if err := q.filter(strings.ToLower(name), value, part.text); err != nil {
			return nil, err
		}
	}
	if len(q.phrases) > maxWords {
		return nil, badQuery("a query has at most 16 words")
	}
	return q, nil
}

// part of a query's text.
type part struct {
	text   string
	quoted bool
}

// split divides a text at white space, except within quotes. A quote that is not closed goes to the end.
func split(text string) (list []part) {
	for {
		text = strings.TrimLeft(text, " \t\r\n\u3000\u00a0")
		if text == "" {
			return list
		}
		if text[0] == '"' {
			quoted, rest, _ := strings.Cut(text[1:], `"`)
			if strings.TrimSpace(quoted) != "" {
				list = append(list, part{quoted, true})
			}
			text = rest
			continue
		}
		end := strings.IndexAny(text, " \t\r\n\u3000\u00a0")
		if end < 0 {
			end = len(text)
		}
		list = append(list, part{text: text[:end]})
		text = text[end:]
	}
}

// filter adds a filter. A word with a colon that is no filter, such as a link, is a word.
func (q *query) filter(name, value, text string) (err error) {
	value = strings.Trim(value, `"`)
	switch name {
	case "from", "in", "kind", "type", "before", "after", "has":
		if value == "" {
			return badQuery("write a value after " + name + ":")
		}
	default:
		q.phrases = append(q.phrases, text)
		return nil
	}
	switch name {
	case "from":
		if len(q.fromHandles)+len(q.from) == maxFrom {
			return badQuery("give at most 20 users in from")
		}
		q.fromHandles = append(q.fromHandles, strings.TrimPrefix(value, "@"))
	case "in":
		err = q.setIn(value)
	case "kind":
		err = q.addKind(value)
	case "type":
		err = q.addType(value)
	case "before", "after":
		day, derr := time.Parse("2006-01-02", value)
		if derr != nil || day.UnixMilli() < 0 {
			return badQuery("write the day after " + name + ": as 2026-01-31")
		}
		if name == "before" {
			q.until = day.UnixMilli()
		} else {
			q.after = day.UnixMilli()
		}
	case "has":
		if value != "link" {
			return badQuery("has: is followed by link")
		}
		q.link = true
	}
	return err
}

func (q *query) setIn(value string) error {
	if handle, ok := strings.CutPrefix(value, "@"); ok {
		if q.inHandle = handle; handle == "" {
			return badQuery("write a handle after in:@")
		}
		return nil
	}
	n, err := strconv.ParseUint(value, 10, 64)
	if err != nil || n == 0 {
		return badQuery("in: is followed by @ and a handle, or by the id of a conversation")
	}
	q.in = n
	return nil
}

var kindNames = map[string]searchv1.HitKind{"user": searchv1.HitKind_HIT_KIND_USER, "conversation": searchv1.HitKind_HIT_KIND_CONVERSATION,
	"message": searchv1.HitKind_HIT_KIND_MESSAGE, "post": searchv1.HitKind_HIT_KIND_POST,
	"video": searchv1.HitKind_HIT_KIND_VIDEO, "file": searchv1.HitKind_HIT_KIND_FILE}

func (q *query) addKind(value string) error {
	kind, ok := kindNames[strings.ToLower(value)]
	if !ok {
		return badQuery("kind: is followed by user, conversation, message, post, video or file")
	}
	q.kinds = append(q.kinds, kind)
	return nil
}

var typeNames = map[string]searchv1.FileType{"image": imageType, "video": videoType, "audio": audioType, "document": documentType, "archive": archiveType, "other": otherType}

func (q *query) addType(value string) error {
	t, ok := typeNames[strings.ToLower(value)]
	if !ok {
		return badQuery("type: is followed by image, video, audio, document, archive or other")
	}
	if !slices.Contains(q.types, t) {
		q.types = append(q.types, t)
	}
	return nil
}
