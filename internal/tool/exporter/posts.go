package exporter

import (
	"context"
	"fmt"

	"github.com/rialto-im/rialto/internal/tool/interchangefile"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
)

// cursor is where an export is within one kind.
type cursor struct {
	// Of the last one that is exported. Version is of a post, and Kind and User of a like.
	ID      uint64 `json:"id"`
	Version uint32 `json:"version"`
	Kind    int32  `json:"kind"`
	User    uint64 `json:"user"`
	// Written versions of the last post.
	Written uint32 `json:"written"`
	Read    int64  `json:"read"`
	Total   int64  `json:"total"`
	Done    bool   `json:"done"`
}

// pages calls page until it has no more, and saves where the export is after each.
func (x *export) pages(what string, c *cursor, page func() (more bool, err error)) error {
	if c.Done {
		return nil
	}
	step := x.Printer.Step(what)
	defer step.End()
	for {
		more, err := page()
		if err != nil {
			return err
		}
		c.Done = !more
		if err := x.save(); err != nil || c.Done {
			return err
		}
		step.At(float64(c.Read)/float64(max(c.Total, 1)), fmt.Sprintf("%d of %d", c.Read, c.Total))
	}
}

// contents tells how what contents refer to is called.
func (x *export) contents(ctx context.Context) interchangefile.Names {
	return interchangefile.Names{User: x.user, File: func(upload uint64) (string, error) { return x.file(ctx, upload) }}
}

// exportVideos writes videos with their files. It saves where it is after each, since files are large.
func (x *export) exportVideos(ctx context.Context) error {
	at := &x.at.Videos
	return x.pages("videos", at, func() (bool, error) {
		page, err := x.Server.ExportVideos(ctx, &operationv1.ExportVideosRequest{After: at.ID})
		if err != nil {
			return false, err
		}
		at.Total = max(at.Total, int64(page.Total))
		for i, v := range page.Videos {
			if err := x.video(ctx, v); err != nil {
				return false, err
			}
			at.ID, at.Read = v.Video, at.Read+1
			if i == len(page.Videos)-1 {
				break // pages saves
			}
			if err := x.save(); err != nil {
				return false, err
			}
		}
		return len(page.Videos) > 0, nil
	})
}

func (x *export) video(ctx context.Context, v *operationv1.InterchangeVideo) error {
	out := &interchangefile.UserVideo{ID: v.Key, Owner: x.user(v.Owner), TimeMs: v.TimeMs, Name: v.Name}
	var err error
	if out.Path, err = x.file(ctx, v.Upload); err != nil {
		return err
	}
	if out.Path == "" {
		return x.to.Skip("video", v.Key, "its file is gone")
	}
	for _, t := range v.Subtitles {
		out.Subtitles = append(out.Subtitles, interchangefile.Subtitles{Language: t.Language, Label: t.Label, Default: t.Default, Text: t.Content})
	}
	x.videos[v.Video] = v.Key
	if err := x.writeID(exportedID{Video: v.Video, ID: v.Key}); err != nil {
		return err
	}
	return x.to.Video(out)
}

// exportPosts writes the versions of posts. Those of which nothing is left are skipped, and the others numbered anew.
func (x *export) exportPosts(ctx context.Context) error {
	at := &x.at.Posts
	return x.pages("posts", at, func() (bool, error) {
		page, err := x.Server.ExportPosts(ctx, &operationv1.ExportPostsRequest{After: at.ID, AfterVersion: at.Version})
		if err != nil {
			return false, err
		}
		at.Total = max(at.Total, int64(page.Total))
		for _, p := range page.Posts {
			if p.Post != at.ID {
				at.Written = 0
			}
			at.ID, at.Version, at.Read = p.Post, p.Version, at.Read+1
			out := &interchangefile.Post{ID: p.Key, Author: x.user(p.Author), Version: at.Written + 1, TimeMs: p.TimeMs, RepostOf: p.RepostKey, Hidden: p.Hidden, Limited: p.Limited,
				Video: x.videos[p.Content.GetVideo()]}
			if err := out.FromProto(p.Content, x.contents(ctx)); err != nil {
				return false, err
			}
			if out.IsEmpty() {
				if err := x.to.Skip("post", p.Key, "nothing is left of what it shows"); err != nil {
					return false, err
				}
				continue
			}
			at.Written++
			if err := x.to.Post(out); err != nil {
				return false, err
			}
		}
		return len(page.Posts) > 0, nil
	})
}

func (x *export) exportComments(ctx context.Context) error {
	at := &x.at.Comments
	return x.pages("comments", at, func() (bool, error) {
		page, err := x.Server.ExportComments(ctx, &operationv1.ExportCommentsRequest{After: at.ID})
		if err != nil {
			return false, err
		}
		at.Total = max(at.Total, int64(page.Total))
		for _, c := range page.Comments {
			at.Read++
			if err := x.comment(ctx, c); err != nil {
				return false, err
			}
		}
		at.ID = max(at.ID, page.Next)
		return page.Next != 0, nil
	})
}

func (x *export) comment(ctx context.Context, c *operationv1.InterchangeComment) error {
	out := &interchangefile.Comment{ID: c.Key, Post: c.PostKey, ReplyTo: c.ReplyKey, Author: x.user(c.Author), TimeMs: c.TimeMs, EditedMs: c.EditedMs, VideoTimeMs: c.VideoTimeMs,
		Deleted: c.Deleted, Limited: c.Limited}
	if c.Video != 0 {
		if out.Video = x.videos[c.Video]; out.Video == "" {
			return x.to.Skip("comment", c.Key, "its video is not exported")
		}
	}
	if err := out.FromProto(c.Content, x.contents(ctx)); err != nil {
		return err
	}
	if !c.Deleted && out.Text == "" && out.Image == nil {
		return x.to.Skip("comment", c.Key, "nothing is left of what it shows")
	}
	return x.to.Comment(out)
}

func (x *export) exportLikes(ctx context.Context) error {
	at := &x.at.Likes
	return x.pages("likes", at, func() (bool, error) {
		page, err := x.Server.ExportLikes(ctx, &operationv1.ExportLikesRequest{AfterKind: operationv1.InterchangeLikeKind(at.Kind), AfterSubject: at.ID, AfterUser: at.User})
		if err != nil {
			return false, err
		}
		at.Total = max(at.Total, int64(page.Total))
		for _, l := range page.Likes {
			out := &interchangefile.Like{User: x.user(l.User), Post: l.Key, TimeMs: l.TimeMs, Favourite: l.Kind == operationv1.InterchangeLikeKind_INTERCHANGE_LIKE_KIND_FAVOURITE}
			if l.Kind == operationv1.InterchangeLikeKind_INTERCHANGE_LIKE_KIND_COMMENT {
				out.Post, out.Comment = "", l.Key
			}
			at.Read++
			if err := x.to.Like(out); err != nil {
				return false, err
			}
		}
		if page.Next != nil {
			at.Kind, at.ID, at.User = int32(page.Next.AfterKind), page.Next.AfterSubject, page.Next.AfterUser
		}
		return page.Next != nil, nil
	})
}
