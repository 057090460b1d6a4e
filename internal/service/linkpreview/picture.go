package linkpreview

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	_ "image/gif" // picture formats
	"image/jpeg"
	_ "image/png"

	"github.com/rialto-im/rialto/internal/base/egress"
	"golang.org/x/image/draw"
	_ "golang.org/x/image/webp" // picture format
)

const (
	maxPicture = 4 << 20
	// maxPixels of a picture that is decoded: 64 MB of memory at eight bytes each.
	maxPixels = 8_000_000
	// maxScans of a JPEG: the decoder visits all pixels for each, which may have a few bytes. Other formats have these two bytes by chance, at most once in 64 KiB.
	maxScans = 100
	// maxSide of the picture that is kept, in pixels.
	maxSide = 640
	quality = 80
)

// Picture of a preview. It is encoded by the server, so that it has nothing but its pixels.
type Picture struct {
	JPEG          []byte
	Width, Height int
}

func (s *Service) fetchPicture(ctx context.Context, address string) (*Picture, error) {
	d, err := s.fetcher.Fetch(ctx, egress.Request{URL: address, Types: []string{"image/jpeg", "image/png", "image/webp", "image/gif"}, MaxBody: maxPicture})
	if err != nil {
		return nil, err
	}
	select {
	case s.decoding <- struct{}{}:
		defer func() { <-s.decoding }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return shrink(d.Body)
}

// shrink decodes an image, of an animation the first frame, and encodes it in a small size.
func shrink(file []byte) (_ *Picture, err error) {
	defer func() { // a fault of a decoder that a page found must not end the node
		if fault := recover(); fault != nil {
			err = fmt.Errorf("the decoder panicked: %v", fault)
		}
	}()
	config, _, err := image.DecodeConfig(bytes.NewReader(file))
	if err != nil {
		return nil, err
	}
	if w, h := int64(config.Width), int64(config.Height); w < 1 || h < 1 || w*h > maxPixels { // a few bytes may say that they are many pixels
		return nil, errors.New("the picture has too many pixels, or none")
	}
	if bytes.Count(file, []byte{0xff, 0xda}) > maxScans {
		return nil, errors.New("the picture has too many scans")
	}
	img, _, err := image.Decode(bytes.NewReader(file))
	if err != nil {
		return nil, err
	}
	from := img.Bounds()
	w, h := from.Dx(), from.Dy()
	if side := max(w, h); side > maxSide {
		w, h = max(w*maxSide/side, 1), max(h*maxSide/side, 1)
	}
	to := image.NewRGBA(image.Rect(0, 0, w, h))
	draw.Draw(to, to.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src) // JPEG has no transparency
	draw.ApproxBiLinear.Scale(to, to.Bounds(), img, from, draw.Over, nil)
	var out bytes.Buffer
	if err := jpeg.Encode(&out, to, &jpeg.Options{Quality: quality}); err != nil {
		return nil, err
	}
	return &Picture{out.Bytes(), w, h}, nil
}
