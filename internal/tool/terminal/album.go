package terminal

import (
	"context"
	"strings"

	rialto "github.com/rialto-im/rialto/sdk/go"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// maxAlbum is how many images and videos an album has.
const maxAlbum = 10

// parseAlbum splits the paths of an album, those with spaces in quotes, from the caption after "--".
func parseAlbum(text string) (paths []string, caption string, err error) {
	for text = strings.TrimSpace(text); text != ""; {
		if text == "--" || strings.HasPrefix(text, "-- ") {
			caption = strings.TrimSpace(text[2:])
			break
		}
		var path string
		path, text = pathAnd(text)
		paths = append(paths, path)
	}
	if len(paths) == 0 || len(paths) > maxAlbum {
		return nil, "", errorf(`give 1 to %d paths, those with spaces in quotes, and a caption after --, as /album a.jpg "my cat.jpg" -- both`, maxAlbum)
	}
	return paths, caption, nil
}

// albumContent is images and videos as one message. If one of them cannot be sent, none is.
func (s *screen) albumContent(ctx context.Context, rest string) (*chatv1.Content, error) {
	paths, caption, err := parseAlbum(rest)
	if err != nil {
		return nil, err
	}
	album := &chatv1.Album{Caption: caption}
	for _, path := range paths {
		u, err := s.upload(ctx, path)
		if err != nil {
			return nil, err
		}
		item, err := albumItem(u)
		if err != nil {
			return nil, err
		}
		album.Items = append(album.Items, item)
	}
	return &chatv1.Content{Kind: &chatv1.Content_Album{Album: album}}, nil
}

// albumItem is an item with an upload.
func albumItem(u *chatv1.Upload) (*chatv1.AlbumItem, error) {
	switch m := rialto.MediaOf(u); {
	case u.Width > 0 && strings.HasPrefix(u.MimeType, "image/"):
		return &chatv1.AlbumItem{Kind: &chatv1.AlbumItem_Image{Image: m}}, nil
	case strings.HasPrefix(u.MimeType, "video/"):
		return &chatv1.AlbumItem{Kind: &chatv1.AlbumItem_Video{Video: m}}, nil
	}
	return nil, errorf("%s is neither an image nor a video; send it with /file", plain(u.Name))
}
