package interchangefile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/base/excerpt"
)

const (
	maxID     = 128       // bytes
	maxText   = 100_000   // characters; a longer text becomes a file
	maxTitle  = 100       // characters
	sortBytes = 64 << 20  // lines in memory
	maxFile   = 100 << 20 // bytes of a file
	// beginAt is 1971: what is earlier is a fault of the source, such as a time of 0.
	beginAt = 365 * 24 * 3600 * 1000
)

var (
	// ErrFileTooLarge is returned for a file of more than 100 MiB.
	ErrFileTooLarge = fmt.Errorf("the file has more than %d MiB", maxFile>>20)
	// ErrFilesTooLarge is returned for a file after which all files have more bytes than LimitFiles allows.
	ErrFilesTooLarge = errors.New("the files have too many bytes")
)

// Writer writes a directory from what a converter finds, in any order but that a conversation precedes its entries. It makes what is wrong in the source
// right where that is possible, and counts the rest as skipped.
type Writer struct {
	ctx    context.Context // of the conversion, which ends with it
	dir    string
	source string
	now    time.Time
	order  sorter
	users  *lineWriter
	known  map[string]struct{} // users
	// relations of users.
	relations *lineWriter
	files     *lineWriter
	skip      *lineWriter
	counts    Counts
	skips     map[string]int64
	// fileBytes are those of all files; mostFileBytes bounds them unless it is 0.
	fileBytes, mostFileBytes int64

	conversations []Conversation
	index         map[string]uint64
}

// Create begins a directory, which has no complete one yet. If ctx ends, so does the conversion. now bounds the times of entries.
func Create(ctx context.Context, dir, source string, now time.Time) (w *Writer, err error) {
	if _, err := os.Stat(filepath.Join(dir, manifestFile)); err == nil {
		return nil, fmt.Errorf("%s has a complete import already: load it, or choose another directory", dir)
	}
	if err := os.MkdirAll(filepath.Join(dir, filesDir), 0o700); err != nil {
		return nil, err
	}
	w = &Writer{ctx: ctx, dir: dir, source: source, now: now, order: sorter{dir: dir, most: sortBytes}, known: map[string]struct{}{}, skips: map[string]int64{}, index: map[string]uint64{}}
	for name, to := range map[string]**lineWriter{usersFile: &w.users, relationsFile: &w.relations, filesFile: &w.files, skippedFile: &w.skip} {
		if *to, err = createLines(dir, name); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// shortID returns an id of at most 128 bytes.
func shortID(id string) string {
	id = strings.ToValidUTF8(strings.ReplaceAll(id, "\x00", ""), "")
	if len(id) <= maxID {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// DirectID names a one-to-one conversation by its users, whose ids may contain any character.
func DirectID(users []string) string {
	users = slices.Clone(users)
	slices.Sort(users)
	return fmt.Sprintf("direct:%q", slices.Compact(users))
}

// Skip counts something that is left out, and why.
func (w *Writer) Skip(kind, where, reason string) error { return w.SkipMany(kind, where, reason, 1) }

// SkipMany counts n things that are left out for one reason, in one line.
func (w *Writer) SkipMany(kind, where, reason string, n int64) error {
	w.skips[kind] += n
	return w.skip.write(Skipped{kind, where, reason})
}

// User adds a user. The second one with an id is skipped.
func (w *Writer) User(u User) error {
	if u.ID = shortID(u.ID); u.ID == "" {
		return w.Skip("user", u.Name, "it has no id")
	}
	if _, known := w.known[u.ID]; known {
		return w.Skip("user", u.ID, "another user has the same id")
	}
	w.known[u.ID] = struct{}{}
	w.counts.Users++
	u.Name = oneLine(u.Name, 64)
	return w.users.write(u)
}

// Relation adds what a user has set about another. Both were added before. Where names its place in the source.
func (w *Writer) Relation(where string, r Relation) error {
	if r.Owner, r.Other = shortID(r.Owner), shortID(r.Other); r.Owner == r.Other || !w.HasUser(r.Owner) || !w.HasUser(r.Other) {
		return w.Skip("relation", where, "it is not of two users of the export: "+r.Owner+" "+r.Other)
	}
	if err := w.ctx.Err(); err != nil {
		return err
	}
	r.Remark = oneLine(r.Remark, 64)
	w.counts.Relations++
	return w.relations.write(r)
}

// ensure adds a user whom the source names and does not describe.
func (w *Writer) ensure(id string) (string, error) {
	id = shortID(id)
	if _, known := w.known[id]; known || id == "" {
		return id, nil
	}
	return id, w.User(User{ID: id, Name: "Unknown " + id})
}

// HasUser reports whether a user was added.
func (w *Writer) HasUser(id string) bool {
	_, known := w.known[shortID(id)]
	return known
}

// HasConversation reports whether a conversation was added.
func (w *Writer) HasConversation(id string) bool {
	_, known := w.index[shortID(id)]
	return known
}

// Admits reports whether a user may be a sender in a conversation: in one of two users, and in its threads, only these. Entry says what is wrong with an
// unknown conversation, and with no user.
func (w *Writer) Admits(conversation, user string) bool {
	find := func(id string) *Conversation {
		at, known := w.index[shortID(id)]
		if !known {
			return nil
		}
		return &w.conversations[at&(1<<40-1)]
	}
	c := find(conversation)
	if c != nil && c.Kind == Thread {
		c = find(c.Parent)
	}
	user = shortID(user)
	return c == nil || c.Kind != Direct || user == "" || user == c.Owner || slices.Contains(c.Members, user)
}

// oneLine returns a text in one line, of at most some characters.
func oneLine(text string, most int) string {
	text = strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == utf8.RuneError {
			return ' '
		}
		return r
	}, text)), " ")
	return strings.TrimSpace(excerpt.Of(text, most))
}

// Conversation adds a conversation. Users whom the source does not describe get a name that says so.
func (w *Writer) Conversation(c Conversation) error {
	if c.ID = shortID(c.ID); c.ID == "" {
		return w.Skip("conversation", c.Title, "it has no id")
	}
	if _, known := w.index[c.ID]; known {
		return w.Skip("conversation", c.ID, "another conversation has the same id")
	}
	c.Parent, c.Root = shortID(c.Parent), shortID(c.Root)
	var members []string
	for _, m := range append([]string{c.Owner}, c.Members...) {
		m, err := w.ensure(m)
		if err != nil {
			return err
		}
		if m != "" && !slices.Contains(members, m) {
			members = append(members, m)
		}
	}
	if len(members) == 0 {
		return w.Skip("conversation", c.ID, "it has no members")
	}
	if c.Kind == Direct && len(members) > 2 {
		return w.Skip("conversation", c.ID, "a one-to-one conversation has one or two users")
	}
	if c.Owner, c.Members = members[0], members[1:]; c.Kind == Direct && len(members) == 1 {
		c.Members = members // with oneself
	}
	if c.Title = oneLine(c.Title, maxTitle); c.Title == "" && (c.Kind == Group || c.Kind == Channel) {
		c.Title = oneLine(c.ID, maxTitle)
	}
	at := uint64(len(w.conversations))
	if c.Kind == Thread {
		at |= 1 << 40 // behind all others: its root has to be there first
	} else {
		w.counts.Memberships += int64(len(members))
	}
	w.index[c.ID] = at
	w.conversations = append(w.conversations, c)
	w.counts.Conversations++
	return nil
}

// Entry adds an entry. Where names its place in the source.
func (w *Writer) Entry(where string, e Entry) error {
	kind := "message"
	if e.Kind == Reaction {
		kind = "reaction"
	}
	e.Conversation = shortID(e.Conversation)
	if err := w.ctx.Err(); err != nil {
		return err
	}
	at, known := w.index[e.Conversation]
	switch {
	case !known:
		return w.Skip(kind, where, "its conversation is unknown: "+e.Conversation)
	case e.TimeMs < beginAt || e.TimeMs > w.now.UnixMilli():
		return w.Skip(kind, where, "its time is no time in the past: "+strconv.FormatInt(e.TimeMs, 10))
	case e.ID == "":
		return w.Skip(kind, where, "it has no id")
	case e.Sender == "" && (e.IsMessage() || e.Kind == Reaction):
		return w.Skip(kind, where, "it has no sender")
	}
	e.ID, e.Target = shortID(e.ID), shortID(e.Target)
	var err error
	if e.Sender, err = w.ensure(e.Sender); err != nil {
		return err
	}
	e.Text = strings.ToValidUTF8(strings.ReplaceAll(e.Text, "\x00", ""), "\uFFFD")
	if (e.Kind == Text || e.Kind == Edit) && strings.TrimSpace(e.Text) == "" && len(e.Files) == 0 {
		return w.Skip(kind, where, "it is empty")
	}
	if e.Kind == Text && utf8.RuneCountInString(e.Text) > maxText {
		path, size, err := w.StoreFile(strings.NewReader(e.Text))
		if err != nil {
			return err
		}
		begin := excerpt.Of(e.Text, 500) + "…"
		e.Kind, e.Text, e.Mentions = File, "", nil
		e.Files = []Attachment{{Path: path, Name: "message.txt", MimeType: "text/plain", Size: uint64(size), Caption: begin}}
	}
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if len(line) > MaxLine {
		return w.Skip(kind, where, ErrLineTooLong.Error())
	}
	return w.order.add(at, e.TimeMs, line)
}

// LimitFiles bounds the bytes of all files together; 0 is no limit.
func (w *Writer) LimitFiles(bytes int64) { w.mostFileBytes = bytes }

// StoreFile copies a file of the source into the directory, and returns its path there. Entries may share a file.
func (w *Writer) StoreFile(r io.Reader) (path string, size int64, err error) {
	most := int64(maxFile)
	if w.mostFileBytes > 0 {
		most = min(most, w.mostFileBytes-w.fileBytes)
	}
	path = fmt.Sprintf("%s/%02x/%08d", filesDir, w.counts.Files%256, w.counts.Files)
	f, err := storeFile(w.dir, path, r, most)
	if errors.Is(err, ErrFileTooLarge) && most < maxFile {
		err = fmt.Errorf("%w: more than %d", ErrFilesTooLarge, w.mostFileBytes)
	}
	if err != nil {
		return "", 0, err
	}
	w.counts.Files++
	w.fileBytes += f.Size
	return path, f.Size, w.files.write(f)
}

// storeFile writes a file, and returns its line. If it is larger than most, it is removed again.
func storeFile(dir, path string, r io.Reader, most int64) (f StoredFile, err error) {
	name := filepath.Join(dir, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return f, err
	}
	to, err := os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return f, err
	}
	h := sha256.New()
	size, err := io.Copy(io.MultiWriter(to, h), io.LimitReader(r, most+1))
	if err = errors.Join(err, to.Close()); err == nil && size > most {
		err = ErrFileTooLarge
	}
	if err != nil {
		return f, errors.Join(err, os.Remove(name))
	}
	return StoredFile{path, size, hex.EncodeToString(h.Sum(nil))}, nil
}

// Close sorts the entries, and writes the manifest.
func (w *Writer) Close() (*Manifest, error) {
	entries, err := createLines(w.dir, entriesFile)
	if err != nil {
		return nil, err
	}
	last, seen := sortLine{ms: -1}, map[string]struct{}{} // the ids at the last time
	err = w.order.each(func(l *sortLine) error {
		var e Entry
		if err := json.Unmarshal(l.text, &e); err != nil {
			return err
		}
		if l.conversation != last.conversation || l.ms != last.ms {
			clear(seen)
		}
		last = sortLine{conversation: l.conversation, ms: l.ms}
		if _, twice := seen[e.ID]; twice {
			return w.Skip(map[bool]string{true: "reaction", false: "message"}[e.Kind == Reaction], e.Conversation+" "+e.ID, "another entry has the same id")
		}
		seen[e.ID] = struct{}{}
		w.count(&w.conversations[l.conversation&(1<<40-1)], &e)
		return entries.raw(append(l.text, '\n'))
	})
	if err == nil {
		err = w.writeConversations()
	}
	if err == nil {
		err = writeNone(w.dir)
	}
	if err = errors.Join(err, entries.close(), w.users.close(), w.relations.close(), w.files.close(), w.skip.close()); err != nil {
		return nil, err
	}
	return writeManifest(w.dir, Manifest{Source: w.source, CreatedMs: w.now.UnixMilli(), Counts: w.counts, Skipped: w.skips})
}

func (w *Writer) count(c *Conversation, e *Entry) {
	if c.Entries == 0 && (e.TimeMs < c.CreatedMs || c.CreatedMs < beginAt) {
		c.CreatedMs = e.TimeMs
	}
	c.Entries++
	w.counts.Entries++
	switch {
	case e.IsMessage():
		c.Messages++
		w.counts.Messages++
		w.counts.Attachments += int64(len(e.Files))
	case e.Kind == Reaction:
		w.counts.Reactions++
	}
}

// notConverted are the files of what the converters do not carry.
var notConverted = []string{videosFile, postsFile, commentsFile, likesFile}

// writeNone writes files without lines.
func writeNone(dir string) error {
	for _, name := range notConverted {
		to, err := createLines(dir, name)
		if err == nil {
			err = to.close()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// writeConversations writes threads last, as their entries are.
func (w *Writer) writeConversations() (err error) {
	to, err := createLines(w.dir, conversationsFile)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.close()) }()
	for _, threads := range []bool{false, true} {
		for i := range w.conversations {
			c := &w.conversations[i]
			if (c.Kind == Thread) != threads {
				continue
			}
			if c.CreatedMs < beginAt || c.CreatedMs > w.now.UnixMilli() {
				c.CreatedMs = w.now.UnixMilli()
			}
			if err := to.write(c); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeManifest completes a directory.
func writeManifest(dir string, m Manifest) (*Manifest, error) {
	m.Version = Version
	for _, name := range []string{usersFile, relationsFile, videosFile, postsFile, commentsFile, likesFile, conversationsFile, entriesFile, filesFile, skippedFile} {
		p, err := describe(dir, name)
		if err != nil {
			return nil, err
		}
		m.Parts = append(m.Parts, p)
	}
	return &m, WriteJSON(filepath.Join(dir, manifestFile), &m)
}
