package importer

import (
	"context"
	"fmt"

	"github.com/rialto-im/rialto/internal/tool/apiclient"
	"github.com/rialto-im/rialto/internal/tool/interchangefile"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
	"google.golang.org/protobuf/proto"
)

// section is a file of lines that are loaded in batches: videos, posts, comments or likes. Lines that are done are skipped. T is a line, and Q what is sent for it.
type section[T any, Q proto.Message] struct {
	what  string // in the progress, such as posts
	kind  string // in the report, such as post
	total int64
	most  int    // lines of a batch
	done  *int64 // lines
	count *int64 // imported lines
	each  func(func(*T) error) error
	where func(*T) string
	// convert makes what is sent of a line. A refusal skips the line.
	convert func(*T) (Q, error)
	// send makes the call, and says whether it was repeated.
	send func(context.Context, []Q) (results []*operationv1.ImportedItem, repeated bool, err error)

	lines []*T
	batch []Q
	read  int64
	size  int
}

// loadSection loads a section from the first line on that is not done.
func loadSection[T any, Q proto.Message](ctx context.Context, l *loader, s section[T, Q]) error {
	step := l.Printer.Step(s.what)
	defer step.End()
	err := s.each(func(line *T) error {
		if s.read < *s.done {
			s.read++
			return nil
		}
		out, err := s.convert(line)
		if reason := refusal(err); reason != nil {
			l.skip(s.kind, s.where(line), reason.Reason, reason.Message)
			s.read++
			return nil
		}
		if err != nil {
			return err
		}
		n := proto.Size(out)
		if len(s.batch) > 0 && s.size+n > batchBytes {
			if err := s.flush(ctx, l); err != nil {
				return err
			}
		}
		s.lines, s.batch, s.size, s.read = append(s.lines, line), append(s.batch, out), s.size+n, s.read+1
		if len(s.batch) < s.most {
			return nil
		}
		step.At(float64(s.read)/float64(max(s.total, 1)), fmt.Sprintf("%d of %d", s.read, s.total))
		return s.flush(ctx, l)
	})
	if err != nil {
		return err
	}
	return s.flush(ctx, l)
}

// flush sends the batch, and notes that the lines that were read are done.
func (s *section[T, Q]) flush(ctx context.Context, l *loader) error {
	if len(s.batch) > 0 {
		if err := l.limit.WaitN(ctx, min(len(s.batch), l.limit.Burst())); err != nil {
			return err
		}
		if err := l.noteSending(); err != nil {
			return err
		}
		results, repeated, err := s.send(ctx, s.batch)
		if err != nil {
			return err
		}
		if len(results) != len(s.batch) {
			return fmt.Errorf("the server answered %d of %d %s", len(results), len(s.batch), s.what)
		}
		for i, r := range results {
			if r.Duplicate && !l.resumed && !repeated {
				r.Reason, r.Message = "duplicate_id", "it was imported before"
			}
			if r.Reason != "" {
				l.skip(s.kind, s.where(s.lines[i]), r.Reason, r.Message)
				continue
			}
			*s.count++
		}
		l.resumed, l.at.Sending = false, false
	}
	s.lines, s.batch, s.size = nil, nil, 0
	if s.read == *s.done {
		return nil
	}
	*s.done = s.read
	return l.save()
}

// user returns the id of a user on the server.
func (l *loader) user(id string) (uint64, error) {
	if u, ok := l.users[id]; ok {
		return u, nil
	}
	return 0, &apiclient.Error{Reason: "no_user", Message: "it names a user who was not imported: " + id}
}

// loadVideos uploads files, and makes videos of them, one after the other. The upload is noted before its video is made, so that an interruption makes no second one.
func (l *loader) loadVideos(ctx context.Context) error {
	return loadSection(ctx, l, section[interchangefile.UserVideo, *operationv1.InterchangeVideo]{
		what: "videos", kind: "video", total: l.reader.Manifest.Counts.Videos, most: 1, done: &l.at.Videos, count: &l.at.Report.Imported.Videos, each: l.reader.Videos,
		where: func(v *interchangefile.UserVideo) string { return v.ID },
		convert: func(v *interchangefile.UserVideo) (*operationv1.InterchangeVideo, error) {
			owner, err := l.user(v.Owner)
			if err != nil {
				return nil, err
			}
			out := &operationv1.InterchangeVideo{Key: v.ID, Owner: owner, TimeMs: v.TimeMs}
			for _, t := range v.Subtitles {
				out.Subtitles = append(out.Subtitles, &operationv1.InterchangeSubtitles{Language: t.Language, Label: t.Label, Default: t.Default, Content: t.Text})
			}
			if l.at.VideoKey != v.ID {
				if l.at.VideoUpload, err = l.uploadAgain(ctx, owner, v.Path, v.Name, false); err != nil {
					return nil, err
				}
				l.at.VideoKey = v.ID
				if err := l.save(); err != nil {
					return nil, err
				}
			}
			out.Upload = l.at.VideoUpload
			return out, nil
		},
		send: l.Server.importVideos,
	})
}

// loadPosts publishes posts.
func (l *loader) loadPosts(ctx context.Context) error {
	return loadSection(ctx, l, section[interchangefile.Post, *operationv1.InterchangePost]{
		what: "posts", kind: "post", total: l.reader.Manifest.Counts.Posts, most: batchSize, done: &l.at.Posts, count: &l.at.Report.Imported.Posts, each: l.reader.Posts,
		where: func(p *interchangefile.Post) string { return fmt.Sprintf("%s: version %d", p.ID, p.Version) },
		convert: func(p *interchangefile.Post) (*operationv1.InterchangePost, error) {
			author, err := l.user(p.Author)
			if err != nil {
				return nil, err
			}
			out, err := p.ToProto(l.user, l.uploadOf(ctx, author))
			if err != nil {
				return nil, badEntry(err)
			}
			out.Key, out.Author, out.RepostKey, out.VideoKey = p.ID, author, p.RepostOf, p.Video
			return out, nil
		},
		send: l.Server.importPosts,
	})
}

// loadComments creates comments.
func (l *loader) loadComments(ctx context.Context) error {
	return loadSection(ctx, l, section[interchangefile.Comment, *operationv1.InterchangeComment]{
		what: "comments", kind: "comment", total: l.reader.Manifest.Counts.Comments, most: batchSize, done: &l.at.Comments, count: &l.at.Report.Imported.Comments, each: l.reader.Comments,
		where: func(c *interchangefile.Comment) string { return c.ID },
		convert: func(c *interchangefile.Comment) (*operationv1.InterchangeComment, error) {
			author, err := l.user(c.Author)
			if err != nil {
				return nil, err
			}
			out, err := c.ToProto(l.user, l.uploadOf(ctx, author))
			if err != nil {
				return nil, badEntry(err)
			}
			out.Key, out.Author, out.PostKey, out.ReplyKey, out.VideoKey = c.ID, author, c.Post, c.ReplyTo, c.Video
			return out, nil
		},
		send: l.Server.importComments,
	})
}

// loadLikes stores likes and favourites.
func (l *loader) loadLikes(ctx context.Context) error {
	return loadSection(ctx, l, section[interchangefile.Like, *operationv1.InterchangeLike]{
		what: "likes", kind: "like", total: l.reader.Manifest.Counts.Likes, most: batchSize, done: &l.at.Likes, count: &l.at.Report.Imported.Likes, each: l.reader.Likes,
		where: func(k *interchangefile.Like) string { return k.User + " " + k.Post + k.Comment },
		convert: func(k *interchangefile.Like) (*operationv1.InterchangeLike, error) {
			user, err := l.user(k.User)
			out := &operationv1.InterchangeLike{Kind: operationv1.InterchangeLikeKind_INTERCHANGE_LIKE_KIND_POST, Key: k.Post, User: user, TimeMs: k.TimeMs}
			switch {
			case k.Comment != "":
				out.Kind, out.Key = operationv1.InterchangeLikeKind_INTERCHANGE_LIKE_KIND_COMMENT, k.Comment
			case k.Favourite:
				out.Kind = operationv1.InterchangeLikeKind_INTERCHANGE_LIKE_KIND_FAVOURITE
			}
			return out, err
		},
		send: l.Server.importLikes,
	})
}

// uploadOf returns a function that uploads files of a user.
func (l *loader) uploadOf(ctx context.Context, owner uint64) func(path, name string) (uint64, error) {
	return func(path, name string) (uint64, error) { return l.upload(ctx, owner, path, name, false) }
}
