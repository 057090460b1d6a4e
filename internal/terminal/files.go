package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	accountv1 "github.com/rialto-im/rialto/gen/rialto/account/v1"
	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
)

// progress tells how far a file has come, where it is long enough to ask.
type progress struct {
	io.Reader
	size, done int64
	told       int64 // percent
	tell       func(percent int64)
}

func (p *progress) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	p.done += int64(n)
	if percent := 100 * p.done / p.size; p.size > 1<<20 && percent >= p.told+10 {
		p.told = percent - percent%10
		p.tell(p.told)
	}
	return n, err
}

// upload puts a file of this machine on the server.
func (s *screen) upload(ctx context.Context, path string) (*chatv1.Upload, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() == 0 {
		return nil, fmt.Errorf("%s is empty, or no file", path)
	}
	name := filepath.Base(path)
	body := &progress{Reader: f, size: info.Size(), tell: func(percent int64) { s.say("* %s: %d %%", plain(name), percent) }}
	return s.client.Upload(ctx, name, mime.TypeByExtension(filepath.Ext(name)), info.Size(), body)
}

// pathAnd splits a path, which may be in quotes, from what follows it.
func pathAnd(rest string) (path, after string) {
	if strings.HasPrefix(rest, `"`) {
		if path, after, ok := strings.Cut(rest[1:], `"`); ok {
			return path, strings.TrimSpace(after)
		}
	}
	path, after, _ = strings.Cut(rest, " ")
	if home, err := os.UserHomeDir(); err == nil && strings.HasPrefix(path, "~/") {
		path = filepath.Join(home, path[2:])
	}
	return path, strings.TrimSpace(after)
}

func (s *screen) sendFile(ctx context.Context, rest string) error {
	c, err := s.current()
	if err != nil {
		return err
	}
	path, caption := pathAnd(rest)
	if path == "" {
		return errors.New(`give a path; one with spaces in quotes, as /file "my cat.jpg"`)
	}
	u, err := s.upload(ctx, path)
	if err != nil {
		return err
	}
	m := &chatv1.Media{Upload: u.Upload, Name: u.Name, MimeType: u.MimeType, Size: u.Size, Width: u.Width, Height: u.Height, Caption: caption}
	content := &chatv1.Content{Kind: &chatv1.Content_File{File: m}}
	if u.Width > 0 && strings.HasPrefix(u.MimeType, "image/") {
		content.Kind = &chatv1.Content_Image{Image: m}
	}
	s.queue(ctx, c.Id, content)
	return nil
}

func (s *screen) avatar(ctx context.Context, rest string) error {
	path, _ := pathAnd(rest)
	u, err := s.upload(ctx, path)
	if err != nil {
		return err
	}
	return s.profile(ctx, &accountv1.UpdateProfileRequest{Avatar: &u.Upload})
}

// mediaOf a message; nil for one without a file.
func mediaOf(c *chatv1.Content) *chatv1.Media {
	for _, m := range []*chatv1.Media{c.GetImage(), c.GetFile(), c.GetVoice(), c.GetVideo()} {
		if m != nil {
			return m
		}
	}
	return nil
}

func (s *screen) saveFile(ctx context.Context, rest string) error {
	c, err := s.current()
	if err != nil {
		return err
	}
	word, path, _ := strings.Cut(rest, " ")
	seq, err := strconv.ParseUint(word, 10, 64)
	if err != nil || seq == 0 {
		return errors.New("give the number that stands at the file, as /save 12")
	}
	r, err := call(ctx, s.client.Chat().History, &chatv1.HistoryRequest{Conversation: c.Id, Before: seq + 1, Limit: 1})
	if err != nil {
		return err
	}
	if len(r.Messages) != 1 || r.Messages[0].Seq != seq || mediaOf(r.Messages[0].Content) == nil {
		return errors.New("that message has no file")
	}
	m := mediaOf(r.Messages[0].Content)
	if path, _ = pathAnd(strings.TrimSpace(path)); path == "" {
		path = fileName(m.Name)
	}
	body, err := s.client.Download(ctx, m.Upload, c.Id, seq)
	if err != nil {
		return err
	}
	defer body.Close()
	if err := write(path, body); err != nil {
		return err
	}
	s.say("* saved as %s", path)
	return nil
}

// fileName makes a name that a stranger chose harmless: no folder, nothing hidden.
func fileName(name string) string {
	name = strings.TrimLeft(filepath.Base(oneLine(plain(strings.ReplaceAll(name, `\`, "/")))), ".")
	if name == "" || name == "/" {
		return "file"
	}
	return name
}

// write makes a file; one that is there already is not touched, and half a file is not left behind.
func write(path string, body io.Reader) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err = io.Copy(f, body); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}
