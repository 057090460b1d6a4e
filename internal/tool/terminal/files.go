package terminal

import (
	"context"
	"errors"
	"io"
	"mime"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	rialto "github.com/rialto-im/rialto/sdk/go"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// progress reports the progress of a long file transfer.
type progress struct {
	io.Reader
	size, done int64
	reported   int64 // last reported percentage
	report     func(percent int64)
}

func (p *progress) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	p.done += int64(n)
	if percent := 100 * p.done / p.size; p.size > 1<<20 && percent >= p.reported+10 {
		p.reported = percent - percent%10
		p.report(p.reported)
	}
	return n, err
}

// upload sends a local file to the server.
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
		return nil, errorf("%s is empty, or not a file", path)
	}
	name := filepath.Base(path)
	body := &progress{Reader: f, size: info.Size(), report: func(percent int64) { s.say("* %s: %d %%", plain(name), percent) }}
	return s.client.Upload(ctx, name, mime.TypeByExtension(filepath.Ext(name)), info.Size(), body)
}

// pathAnd splits a path, which may be quoted, from the text after it.
func pathAnd(rest string) (path, after string) {
	if strings.HasPrefix(rest, `"`) {
		if path, after, ok := strings.Cut(rest[1:], `"`); ok {
			return path, strings.TrimSpace(after)
		}
	}
	path, after, _ = strings.Cut(rest, " ")
	return atHome(path), strings.TrimSpace(after)
}

// atHome returns a path in a form that the system knows.
func atHome(path string) string {
	if home, err := os.UserHomeDir(); err == nil && strings.HasPrefix(path, "~/") {
		return filepath.Join(home, path[2:])
	}
	return path
}

// composeContent makes the content of a message from the text behind a command. It uploads files.
type composeContent func(s *screen, ctx context.Context, rest string) (*chatv1.Content, error)

// sendContent sends a content to the open chat.
func sendContent(compose composeContent) func(*screen, context.Context, string) error {
	return func(s *screen, ctx context.Context, rest string) error {
		c, err := s.current()
		if err != nil {
			return err
		}
		content, err := compose(s, ctx, rest)
		if err != nil {
			return err
		}
		s.queue(ctx, c.Id, content)
		return nil
	}
}

var errNoPath = errorf(`give a path; one with spaces in quotes, as /file "my cat.jpg"`)

// fileContent is an image, a video or another file.
func (s *screen) fileContent(ctx context.Context, rest string) (*chatv1.Content, error) {
	path, caption := pathAnd(rest)
	if path == "" {
		return nil, errNoPath
	}
	u, err := s.upload(ctx, path)
	if err != nil {
		return nil, err
	}
	m := rialto.MediaOf(u)
	m.Caption = caption
	switch {
	case u.Width > 0 && strings.HasPrefix(u.MimeType, "image/"):
		return &chatv1.Content{Kind: &chatv1.Content_Image{Image: m}}, nil
	case strings.HasPrefix(u.MimeType, "video/"):
		return &chatv1.Content{Kind: &chatv1.Content_Video{Video: m}}, nil
	}
	return &chatv1.Content{Kind: &chatv1.Content_File{File: m}}, nil
}

func (s *screen) avatar(ctx context.Context, rest string) error {
	path, _ := pathAnd(rest)
	u, err := s.upload(ctx, path)
	if err != nil {
		return err
	}
	return s.profile(ctx, &accountv1.UpdateProfileRequest{Avatar: &u.Upload})
}

// filesOf returns the files of a message.
func filesOf(c *chatv1.Content) (files []*chatv1.Media) {
	all := []*chatv1.Media{c.GetImage(), c.GetFile(), c.GetVoice(), c.GetVideo()}
	for _, item := range c.GetAlbum().GetItems() {
		all = append(all, item.GetImage(), item.GetVideo())
	}
	for _, item := range c.GetForward().GetItems() {
		files = append(files, filesOf(item.Content)...)
	}
	for _, m := range all {
		if m != nil {
			files = append(files, m)
		}
	}
	return files
}

func (s *screen) saveFile(ctx context.Context, rest string) error {
	c, err := s.current()
	if err != nil {
		return err
	}
	word, path, _ := strings.Cut(rest, " ")
	seq, err := parseSeq(word)
	if err != nil {
		return err
	}
	r, err := call(ctx, s.client.Chat().History, &chatv1.HistoryRequest{Conversation: c.Id, Before: seq + 1, Limit: 1})
	if err != nil {
		return err
	}
	if len(r.Messages) != 1 || r.Messages[0].Seq != seq || len(filesOf(r.Messages[0].Content)) == 0 {
		return errorf("that message has no file")
	}
	files := filesOf(r.Messages[0].Content)
	path, _ = pathAnd(strings.TrimSpace(path))
	if path != "" && len(files) > 1 {
		return errorf("that message has several files: save them without a path, by their own names")
	}
	for _, m := range files {
		if err := s.download(ctx, c.Id, seq, m, path); err != nil {
			return err
		}
	}
	return nil
}

// download saves a file of a message, under its own name if path is empty.
func (s *screen) download(ctx context.Context, conversation, seq uint64, m *chatv1.Media, path string) error {
	if path == "" {
		path = fileName(m.Name)
	}
	body, err := s.client.Download(ctx, m.Upload, conversation, seq)
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

// locationContent is a place: a latitude, a longitude and perhaps a label.
func (s *screen) locationContent(_ context.Context, rest string) (*chatv1.Content, error) {
	var l chatv1.Location
	var err error
	lat, rest, _ := strings.Cut(strings.TrimPrefix(rest, "geo:"), " ")
	lon, label, _ := strings.Cut(rest, " ")
	if before, after, ok := strings.Cut(lat, ","); ok && after != "" { // as in a geo: link
		lat, lon, label = before, after, rest
	}
	l.Latitude, err = strconv.ParseFloat(strings.TrimSuffix(lat, ","), 64)
	if err == nil {
		l.Longitude, err = strconv.ParseFloat(lon, 64)
	}
	if err != nil {
		return nil, errorf("give a latitude and a longitude in degrees, as /location 45.438 12.336 Rialto")
	}
	l.Label = strings.TrimSpace(label)
	return &chatv1.Content{Kind: &chatv1.Content_Location{Location: &l}}, nil
}

// fileName makes a name chosen by another user safe: without folders, and not hidden.
func fileName(name string) string {
	name = strings.TrimLeft(filepath.Base(oneLine(plain(strings.ReplaceAll(name, `\`, "/")))), ".")
	if name == "" || name == "/" {
		return "file"
	}
	return name
}

// write creates a file. It does not overwrite an existing file, and removes an incomplete one.
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
