package interchangefile

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/base/filecopy"
)

// Position is how far an Appender is: the sizes of its files, and what is counted.
type Position struct {
	Videos        int64  `json:"videos_size"`
	Posts         int64  `json:"posts_size"`
	Comments      int64  `json:"comments_size"`
	Likes         int64  `json:"likes_size"`
	Conversations int64  `json:"conversations_size"`
	Entries       int64  `json:"messages_size"`
	Skipped       int64  `json:"skipped_size"`
	Counts        Counts `json:"counts"`
	// Skips counts what was skipped, by kind.
	Skips map[string]int64 `json:"skips"`
}

// Appender writes a directory from what comes in order, and continues at a Position after an interruption.
type Appender struct {
	dir                           string
	users, conversations, entries *lineWriter
	relations, skip               *lineWriter
	videos, posts                 *lineWriter
	comments, likes               *lineWriter
	at                            Position
}

// Append continues a directory at a position, of which the zero value begins it. Users and relations are written anew.
func Append(dir string, at Position) (a *Appender, err error) {
	if _, err := os.Stat(filepath.Join(dir, manifestFile)); err == nil {
		return nil, fmt.Errorf("%s has a complete export; choose another directory", dir)
	}
	if err := os.MkdirAll(filepath.Join(dir, filesDir), 0o700); err != nil {
		return nil, err
	}
	if at.Skips == nil {
		at.Skips = map[string]int64{}
	}
	at.Counts.Users, at.Counts.Relations = 0, 0
	a = &Appender{dir: dir, at: at}
	if a.users, err = createLines(dir, usersFile); err != nil {
		return nil, err
	}
	if a.relations, err = createLines(dir, relationsFile); err != nil {
		return nil, err
	}
	for _, f := range a.continued() {
		if *f.to, err = continueLines(dir, f.name, *f.size); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// continuedFile is a file that is continued after an interruption.
type continuedFile struct {
	name string
	size *int64
	to   **lineWriter
}

func (a *Appender) continued() []continuedFile {
	return []continuedFile{{videosFile, &a.at.Videos, &a.videos}, {postsFile, &a.at.Posts, &a.posts}, {commentsFile, &a.at.Comments, &a.comments}, {likesFile, &a.at.Likes, &a.likes},
		{conversationsFile, &a.at.Conversations, &a.conversations}, {entriesFile, &a.at.Entries, &a.entries}, {skippedFile, &a.at.Skipped, &a.skip}}
}

// continueLines cuts a file at a size, and appends to it.
func continueLines(dir, name string, size int64) (*lineWriter, error) {
	if size == 0 {
		return createLines(dir, name)
	}
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Size() < size {
		err = fmt.Errorf("%s is shorter than when the export was interrupted", name)
	}
	if err == nil {
		err = f.Truncate(size)
	}
	if err == nil {
		_, err = f.Seek(size, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return newLineWriter(name, f, size), nil
}

// User adds a user.
func (a *Appender) User(u User) error {
	a.at.Counts.Users++
	return a.users.write(u)
}

// Relation adds what a user has set about another.
func (a *Appender) Relation(r Relation) error {
	a.at.Counts.Relations++
	return a.relations.write(r)
}

// Video adds a video.
func (a *Appender) Video(v *UserVideo) error {
	a.at.Counts.Videos++
	return a.videos.write(v)
}

// Post adds a version of a post.
func (a *Appender) Post(p *Post) error {
	a.at.Counts.Posts++
	return a.posts.write(p)
}

// Comment adds a comment.
func (a *Appender) Comment(c *Comment) error {
	a.at.Counts.Comments++
	return a.comments.write(c)
}

// Like adds a like or a favourite.
func (a *Appender) Like(l *Like) error {
	a.at.Counts.Likes++
	return a.likes.write(l)
}

// Entry adds an entry, and counts it for its conversation.
func (a *Appender) Entry(c *Conversation, e *Entry) error {
	c.Entries++
	a.at.Counts.Entries++
	switch {
	case e.IsMessage():
		c.Messages++
		a.at.Counts.Messages++
		a.at.Counts.Attachments += int64(len(e.Files))
	case e.Kind == Reaction:
		a.at.Counts.Reactions++
	}
	return a.entries.write(e)
}

// Conversation adds a conversation, after its entries.
func (a *Appender) Conversation(c *Conversation) error {
	a.at.Counts.Conversations++
	if c.Kind != Thread {
		a.at.Counts.Memberships += int64(len(c.Members))
		if !slices.Contains(c.Members, c.Owner) {
			a.at.Counts.Memberships++
		}
	}
	return a.conversations.write(c)
}

// Skip counts something that is left out, and why.
func (a *Appender) Skip(kind, where, reason string) error {
	a.at.Skips[kind]++
	return a.skip.write(Skipped{kind, where, reason})
}

// Position makes what was added durable, and returns how far the Appender is.
func (a *Appender) Position() (Position, error) {
	var err error
	for _, f := range a.continued() {
		if (*f.to).size != *f.size {
			err = errors.Join(err, (*f.to).flush())
		}
		*f.size = (*f.to).size
	}
	return a.at, err
}

// StoreFile copies a file into the directory under its checksum, and returns its path. One that is there is left as it is.
func (a *Appender) StoreFile(r io.Reader) (path string, err error) {
	const temporary = filesDir + "/new"
	f, err := storeFile(a.dir, temporary, r, 1<<40)
	if err != nil {
		return "", err
	}
	path = filesDir + "/" + f.Sha256[:2] + "/" + f.Sha256
	if err := os.MkdirAll(filepath.Join(a.dir, filesDir, f.Sha256[:2]), 0o700); err != nil {
		return "", err
	}
	return path, os.Rename(filepath.Join(a.dir, filepath.FromSlash(temporary)), filepath.Join(a.dir, filepath.FromSlash(path)))
}

// Close completes the directory.
func (a *Appender) Close(source string, now time.Time) (*Manifest, error) {
	err := errors.Join(a.users.close(), a.relations.close())
	for _, f := range a.continued() {
		err = errors.Join(err, (*f.to).close())
	}
	if err == nil {
		err = a.listFiles()
	}
	if err != nil {
		return nil, err
	}
	return writeManifest(a.dir, Manifest{Source: source, CreatedMs: now.UnixMilli(), Counts: a.at.Counts, Skipped: a.at.Skips})
}

// listFiles writes files.jsonl from the folder of files, and removes what an interruption has left there.
func (a *Appender) listFiles() (err error) {
	to, err := createLines(a.dir, filesFile)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.close()) }()
	a.at.Counts.Files = 0
	return filepath.WalkDir(filepath.Join(a.dir, filesDir), func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if d.Name() == "new" {
			return os.Remove(name)
		}
		sum, size, err := checksum(name)
		if err != nil {
			return err
		}
		if sum != d.Name() {
			return fmt.Errorf("%s does not have the checksum that is its name", name)
		}
		a.at.Counts.Files++
		return to.write(StoredFile{strings.Join([]string{filesDir, sum[:2], sum}, "/"), size, sum})
	})
}

func checksum(name string) (sum string, size int64, err error) {
	f, err := os.Open(name)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	size, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), size, err
}

// WriteJSON replaces a file by the JSON of a value, durably.
func WriteJSON(name string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return filecopy.Replace(name, append(b, '\n'))
}
