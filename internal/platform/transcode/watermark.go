package transcode

import (
	"fmt"
	"strconv"
	"strings"
)

// Watermark is a PNG image over the picture of a rendition.
type Watermark struct {
	// Image names it, for whoever stores it.
	Image string `json:"image"`
	// X and Y of its upper left corner, and its size, in pixels of the rendition.
	X      int `json:"x"`
	Y      int `json:"y"`
	Width  int `json:"width"`
	Height int `json:"height"`
	// Opacity is above 0 and at most 1.
	Opacity float64 `json:"opacity"`

	// Path of the file.
	Path string `json:"-"`
}

const (
	watermarkInside = "/in/watermark.png"
	watermarkMargin = 0.03 // of the picture's shorter side
)

// PlaceWatermark sets the watermark of a rendition: an image of some pixels, in a corner such as top-left, as wide as a share of the picture.
func (r *Rendition) PlaceWatermark(image string, pixelWidth, pixelHeight int, corner string, width, opacity float64) {
	w := &Watermark{Image: image, Opacity: opacity}
	scale := width * float64(r.Width) / float64(pixelWidth)
	scale = min(scale, float64(r.Height)/2/float64(pixelHeight)) // a high image has at most half of the height
	w.Width, w.Height = max(1, int(scale*float64(pixelWidth)+0.5)), max(1, int(scale*float64(pixelHeight)+0.5))
	w.X = int(watermarkMargin*float64(min(r.Width, r.Height)) + 0.5)
	w.Y = w.X
	if strings.HasSuffix(corner, "right") {
		w.X = r.Width - w.X - w.Width
	}
	if strings.HasPrefix(corner, "bottom") {
		w.Y = r.Height - w.Y - w.Height
	}
	r.Watermark = w
}

// input are the arguments that make the image the second input. It has the rate of the picture, so that the times of both are exact.
func (w *Watermark) input(rate Rate) []string {
	return []string{"-protocol_whitelist", "file", "-codec_whitelist", "png", "-framerate", fmt.Sprintf("%d/%d", rate.Num, rate.Den), "-f", "png_pipe", "-i", watermarkInside}
}

// filter puts [imageN] over what a filter makes, as [outN].
func (w *Watermark) filter(picture string, n int) string {
	return fmt.Sprintf("%[1]s[picture%[2]d];[image%[2]d]scale=%[3]d:%[4]d:flags=bicubic,format=rgba,colorchannelmixer=aa=%[5]s[mark%[2]d];[picture%[2]d][mark%[2]d]overlay=x=%[6]d:y=%[7]d:eof_action=repeat:format=yuv420,format=yuv420p[out%[2]d]",
		picture, n, w.Width, w.Height, strconv.FormatFloat(w.Opacity, 'f', 3, 64), w.X, w.Y)
}
