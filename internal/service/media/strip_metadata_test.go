package media_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"net/http"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/service/media"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// secret is metadata that must be stripped.
const secret = "48.8583N 2.2945E"

// segment returns a segment of a JPEG.
func segment(marker byte, data string) string {
	return string([]byte{0xff, marker}) + string(binary.BigEndian.AppendUint16(nil, uint16(len(data)+2))) + data
}

// exif returns Exif with some tags, among them the orientation and a place.
func exif(order binary.AppendByteOrder, orientation uint16) string {
	b := []byte("MM\x00*")
	if order == binary.AppendByteOrder(binary.LittleEndian) {
		b = []byte("II*\x00")
	}
	b = order.AppendUint32(b, 8)
	b = order.AppendUint16(b, 3)
	for _, tag := range []struct{ tag, typ, value uint16 }{{0x10f, 2, 0}, {0x112, 3, orientation}, {0x8825, 4, 0}} {
		b = order.AppendUint16(order.AppendUint16(b, tag.tag), tag.typ)
		b = order.AppendUint32(b, 1)
		b = order.AppendUint16(order.AppendUint16(b, tag.value), 0)
	}
	return segment(0xe1, "Exif\x00\x00"+string(b)+"\x00\x00\x00\x00"+secret)
}

// chunk returns a chunk of a PNG.
func chunk(name, data string) string {
	b := append([]byte(name), data...)
	return string(binary.BigEndian.AppendUint32(nil, uint32(len(data)))) + string(b) + string(binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(b)))
}

// riff returns a WebP of chunks.
func riff(chunks ...string) string {
	body := "WEBP" + strings.Join(chunks, "")
	return "RIFF" + string(binary.LittleEndian.AppendUint32(nil, uint32(len(body)))) + body
}

func riffChunk(name, data string) string {
	n := uint32(len(data))
	return name + string(binary.LittleEndian.AppendUint32(nil, n)) + data + strings.Repeat("\x00", len(data)%2)
}

// lossless returns a WebP of one pixel.
const lossless = "\x2f\x00\x00\x00\x10\x07\x10\x11\x11\x88\x88\xfe\x07"

func coloured(t testing.TB, format string) []byte {
	t.Helper()
	img := image.NewPaletted(image.Rect(0, 0, 40, 24), color.Palette{color.Black, color.White, color.RGBA{200, 30, 90, 255}})
	for i := range img.Pix {
		img.Pix[i] = uint8(i*i/7) % 3
	}
	var b bytes.Buffer
	var err error
	switch format {
	case "png":
		err = png.Encode(&b, img)
	case "jpeg":
		err = jpeg.Encode(&b, img, nil)
	case "gif":
		err = gif.EncodeAll(&b, &gif.GIF{Image: []*image.Paletted{img, img, img}, Delay: []int{1, 2, 3}})
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Metadata is stripped in each format, and the image data is kept.
func TestStripMetadata(t *testing.T) {
	jpg, pix, anim := string(coloured(t, "jpeg")), string(coloured(t, "png")), string(coloured(t, "gif"))
	profile, adobe := segment(0xe2, "ICC_PROFILE\x00\x01\x01profile"), segment(0xee, "Adobe\x00\x64\x00\x00\x00\x00\x00")
	jfif := segment(0xe0, "JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00")
	gamma := chunk("gAMA", "\x00\x00\xb1\x8f")
	head := anim[:13] // without a colour table
	loop := "!\xff\x0bNETSCAPE2.0\x03\x01\x00\x00\x00"
	vp8x := func(flags string) string { return riffChunk("VP8X", flags+"\x00\x00\x00\x00\x00\x00\x00\x00\x00") }
	icc, still := riffChunk("ICCP", "profile"), riffChunk("VP8L", lossless)
	for _, test := range []struct {
		name, mime, file, want string
		frames                 int
	}{
		{"plain", "jpeg", jpg, jpg, 0},
		{"everything that tells", "jpeg", jpg[:2] + jfif + segment(0xe0, "JFXX\x00"+secret) + segment(0xe1, "http://ns.adobe.com/xap/1.0/\x00"+secret) + segment(0xe2, "MPF\x00"+secret) + profile +
			segment(0xe3, secret) + segment(0xec, "Ducky"+secret) + segment(0xed, "Photoshop 3.0\x00"+secret) + adobe + segment(0xef, secret) + segment(0xfe, secret) + segment(0xf0, secret) + "\x00garbage" + jpg[2:] + secret,
			jpg[:2] + jfif + profile + adobe + jpg[2:], 0},
		{"a smaller one behind", "jpeg", jpg + jpg[:2] + segment(0xe1, "Exif\x00\x00"+secret) + jpg[2:], jpg, 0},
		{"Exif that says nothing of the way up", "jpeg", jpg[:2] + segment(0xe1, "Exif\x00\x00II*\x00\x08\x00\x00\x00\x00\x00"+secret) + jpg[2:], jpg, 0},
		{"Exif that is up", "jpeg", jpg[:2] + exif(binary.BigEndian, 1) + jpg[2:], jpg, 0},
		{"Exif with a way that there is not", "jpeg", jpg[:2] + exif(binary.BigEndian, 9) + jpg[2:], jpg, 0},
		{"cut off", "jpeg", jpg[:len(jpg)-30], jpg[:len(jpg)-30], 0},
		{"several markers for one", "jpeg", jpg[:len(jpg)-2] + "\xff\xff\xff\xff\xd9" + secret, jpg[:len(jpg)-2] + "\xff\xff\xff\xff\xd9", 0},
		{"plain", "png", pix, pix, 0},
		{"everything that tells", "png", pix[:33] + gamma + chunk("tEXt", secret) + chunk("zTXt", secret) + chunk("iTXt", secret) + chunk("eXIf", secret) + chunk("tIME", secret) + chunk("prVt", secret) + pix[33:] + secret,
			pix[:33] + gamma + pix[33:], 0},
		{"an animation", "png", pix[:33] + chunk("acTL", "12345678") + chunk("fcTL", strings.Repeat("1", 26)) + chunk("fcTL", strings.Repeat("1", 26)) + pix[33:],
			pix[:33] + chunk("acTL", "12345678") + chunk("fcTL", strings.Repeat("1", 26)) + chunk("fcTL", strings.Repeat("1", 26)) + pix[33:], 2},
		{"plain", "gif", anim, anim, 3},
		{"everything that tells", "gif", head + loop + "!\xfe\x10" + secret + "\x00" + "!\xff\x0bXMP DataXMP\x10" + secret + "\x00" + "!\x01\x02ab\x10" + secret + "\x00" + anim[len(head)+len(loop):] + secret, anim, 3},
		{"without its end", "gif", anim[:len(anim)-1], anim[:len(anim)-1], 3},
		{"plain", "webp", riff(still), riff(still), 0},
		{"everything that tells", "webp", riff(vp8x("\xfe"), icc, riffChunk("EXIF", secret+"1"), still, riffChunk("XMP ", secret), riffChunk("OWN ", secret)) + secret, riff(vp8x("\xf2"), icc, still), 0},
		{"flags alone", "webp", riff(vp8x("\x0c"), still), riff(vp8x("\x00"), still), 0},
		{"an animation", "webp", riff(vp8x("\x02"), riffChunk("ANIM", "123456"), riffChunk("ANMF", "12"), riffChunk("ANMF", "34")), riff(vp8x("\x02"), riffChunk("ANIM", "123456"), riffChunk("ANMF", "12"), riffChunk("ANMF", "34")), 2},
		{"no byte to fill up the last", "webp", riff(still[:len(still)-1]), riff(still[:len(still)-1]), 0},
	} {
		kept, frames, rotated, changed, err := media.StripMetadata([]byte(test.file), "image/"+test.mime)
		if err != nil || string(kept) != test.want || frames != test.frames || rotated || changed != (test.file != test.want) {
			t.Errorf("%s, %s: %d frames, rotated %v, changed %v (%v), got\n%q, want\n%q", test.mime, test.name, frames, rotated, changed, err, kept, test.want)
		}
		if bytes.Contains(kept, []byte(secret)) {
			t.Errorf("%s, %s: metadata remains", test.mime, test.name)
		}
	}
	if _, _, err := image.Decode(strings.NewReader(riff(still))); err != nil {
		t.Error(err)
	}
}

// Of Exif only the orientation is kept.
func TestOrientationIsKept(t *testing.T) {
	jpg := string(coloured(t, "jpeg"))
	for orientation := uint16(2); orientation <= 8; orientation++ {
		want := jpg[:2] + segment(0xe1, "Exif\x00\x00MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00"+string(rune(orientation))+"\x00\x00\x00\x00\x00\x00") + jpg[2:]
		for _, order := range []binary.AppendByteOrder{binary.BigEndian, binary.LittleEndian} {
			kept, _, rotated, changed, err := media.StripMetadata([]byte(jpg[:2]+exif(order, orientation)+exif(order, 3)+jpg[2:]), "image/jpeg")
			if err != nil || string(kept) != want || rotated != (orientation >= 5) || !changed {
				t.Errorf("orientation %d, %v: rotated %v, changed %v (%v), got\n%q, want\n%q", orientation, order, rotated, changed, err, kept[:60], want[:60])
			}
		}
		if _, _, _, changed, err := media.StripMetadata([]byte(want), "image/jpeg"); changed || err != nil {
			t.Errorf("orientation %d: stripping the result changes it again: %v", orientation, err)
		}
	}
}

func TestStripMetadataRejectsBadImages(t *testing.T) {
	jpg, pix, anim := string(coloured(t, "jpeg")), string(coloured(t, "png")), string(coloured(t, "gif"))
	for _, test := range []struct{ mime, file string }{
		{"jpeg", ""}, {"jpeg", "\xff\xd8"}, {"jpeg", "\xff\xd9"}, {"jpeg", jpg[:100]}, {"jpeg", jpg[:2] + jpg}, {"jpeg", jpg[:2] + "\xff\xe1\x00\x01" + jpg[2:]}, {"jpeg", jpg[:2] + "\xff\xe1\xff\xff" + secret},
		{"png", ""}, {"png", pix[:8]}, {"png", pix[:len(pix)-12]}, {"png", pix[:len(pix)-1]}, {"png", pix[:8] + pix[33:]}, {"png", pix[:33] + pix[8:]}, {"png", pix[:33] + chunk("NEED", "") + pix[33:]},
		{"png", pix[:33] + "\xff\xff\xff\xfftEXt" + pix[33:]}, {"png", pix[:33] + strings.Repeat(chunk("gAMA", "")+chunk("tEXt", ""), 20_000) + pix[33:]},
		{"gif", ""}, {"gif", anim[:13]}, {"gif", anim[:len(anim)-2]}, {"gif", anim[:len(anim)-1] + "x"}, {"gif", "GIF88a" + anim[6:]},
		{"webp", ""}, {"webp", "RIFF\xff\x00\x00\x00WEBP"}, {"webp", riff(riffChunk("VP8X", "short"))}, {"webp", riff("VP8L\xff\xff\xff\xff")}, {"webp", riff("VP8L")},
	} {
		if kept, _, _, _, err := media.StripMetadata([]byte(test.file), "image/"+test.mime); errs.Of(err) == nil || errs.Of(err).Reason != "bad_image" {
			t.Errorf("%s %.100q: got %v, %d bytes are kept", test.mime, test.file, err, len(kept))
		}
	}
}

// An uploaded photograph is stored without metadata, and its size is that of the stripped file.
func TestUploadsAreStoredWithoutMetadata(t *testing.T) {
	r, ctx := open(t, media.Config{Quota: 10_000}), t.Context()
	jpg := string(coloured(t, "jpeg"))
	file := jpg[:2] + exif(binary.LittleEndian, 6) + segment(0xfe, strings.Repeat(secret, 250)) + jpg[2:]
	up := r.create(alice, "photo.jpg", len(file))
	if w := r.put(up.Url, []byte(file)); w.Code != http.StatusNoContent {
		t.Fatalf("status %d, want %d: %s", w.Code, http.StatusNoContent, w.Body)
	}
	n := id.Upload(up.Upload)
	var first *chatv1.Upload
	for try := range 2 {
		u, err := r.CompleteUpload(ctx, alice, n)
		if err != nil || u.MimeType != "image/jpeg" || u.Width != 24 || u.Height != 40 || int(u.Size) != len(jpg)+36 || r.files() != 1 {
			t.Fatalf("attempt %d: got %v (%v), %d files", try, u, err, r.files())
		}
		if first == nil {
			first = u
		} else if first.String() != u.String() {
			t.Errorf("the first call returned %v, the second %v", first, u)
		}
		if w := r.put(up.Url, []byte(file)); w.Code != http.StatusNoContent || r.files() != 1 { // a client that missed the response
			t.Errorf("a repeated PUT is answered with %d %s, %d files", w.Code, w.Body, r.files())
		}
	}
	w := r.request(http.MethodGet, r.url(up.Upload), nil)
	if w.Code != http.StatusOK || w.Body.Len() != int(first.Size) || strings.Contains(w.Body.String(), secret) {
		t.Errorf("the download has status %d, %d bytes", w.Code, w.Body.Len())
	}
	was, err := jpeg.Decode(strings.NewReader(jpg))
	if err != nil {
		t.Fatal(err)
	}
	if is, err := jpeg.Decode(w.Body); err != nil || !same(was, is) {
		t.Errorf("the picture differs (%v)", err)
	}
	if _, err := r.CreateUpload(ctx, alice, &chatv1.CreateUploadRequest{Size: 10_000 - first.Size}); err != nil {
		t.Errorf("stripped bytes count against the quota: %v", err)
	}
}

// Two concurrent completions of an upload return the same, and one of their files is kept. If the upload is dropped
// meanwhile, no file is kept.
func TestConcurrentCompletionsKeepOneFile(t *testing.T) {
	r, ctx := open(t, media.Config{}), t.Context()
	jpg := string(coloured(t, "jpeg"))
	file := []byte(jpg + secret)
	for _, test := range []struct {
		name      string
		meanwhile func(n id.Upload)
		files     int
	}{
		{"before it is read", func(n id.Upload) { r.store.before(&r.store.opening, func() { r.complete(n) }) }, 1},
		{"after it was stripped", func(n id.Upload) { r.store.before(&r.store.stored, func() { r.complete(n) }) }, 1},
		{"dropped after it was stripped", func(id.Upload) {
			r.store.before(&r.store.stored, func() {
				r.clock.ms.Add(25 * 3600 * 1000)
				if err := r.Sweep(ctx); err != nil {
					t.Error(err)
				}
			})
		}, 0},
		{"the disk is full", func(id.Upload) { r.store.before(&r.store.opening, func() { r.store.fail(errors.New("no space")) }) }, 1},
	} {
		before := r.files()
		up := r.create(alice, "a", len(file))
		if w := r.put(up.Url, file); w.Code != http.StatusNoContent {
			t.Fatalf("status %d, want %d: %s", w.Code, http.StatusNoContent, w.Body)
		}
		test.meanwhile(id.Upload(up.Upload))
		u, err := r.CompleteUpload(ctx, alice, id.Upload(up.Upload))
		r.store.fail(nil)
		if test.files == 1 && err != nil { // retry
			u, err = r.CompleteUpload(ctx, alice, id.Upload(up.Upload))
		}
		if test.files == 0 {
			wantError(t, test.name, err, errs.NotFound, "no_upload")
		} else if err != nil || int(u.Size) != len(jpg) {
			t.Errorf("%s: got %v (%v)", test.name, u, err)
		} else if w := r.request(http.MethodGet, r.url(up.Upload), nil); w.Body.String() != jpg {
			t.Errorf("%s: the download has status %d, %d bytes", test.name, w.Code, w.Body.Len())
		}
		if n := r.files() - before; n != test.files {
			t.Errorf("%s: %d files remain", test.name, n)
		}
	}
}

// complete completes an upload of alice.
func (r *fixture) complete(n id.Upload) {
	if _, err := r.CompleteUpload(r.t.Context(), alice, n); err != nil {
		r.t.Error(err)
	}
}

func same(a, b image.Image) bool {
	if a.Bounds() != b.Bounds() {
		return false
	}
	for y := a.Bounds().Min.Y; y < a.Bounds().Max.Y; y++ {
		for x := a.Bounds().Min.X; x < a.Bounds().Max.X; x++ {
			if a.At(x, y) != b.At(x, y) {
				return false
			}
		}
	}
	return true
}

// Stripping any input ends without a panic. Stripping the result changes nothing. The result is no larger, except for the orientation,
// and shows the same image.
func FuzzStripMetadata(f *testing.F) {
	formats := []string{"image/jpeg", "image/png", "image/gif", "image/webp"}
	jpg, pix := string(coloured(f, "jpeg")), string(coloured(f, "png"))
	f.Add(uint8(0), []byte(jpg[:2]+exif(binary.LittleEndian, 6)+segment(0xfe, secret)+jpg[2:]))
	f.Add(uint8(0), []byte(jpg[:2]+exif(binary.BigEndian, 3)+jpg[2:]+secret))
	f.Add(uint8(1), []byte(pix[:33]+chunk("tEXt", secret)+pix[33:]))
	f.Add(uint8(2), coloured(f, "gif"))
	f.Add(uint8(3), []byte(riff(riffChunk("VP8X", "\x0c\x00\x00\x00\x00\x00\x00\x00\x00\x00"), riffChunk("VP8L", lossless), riffChunk("EXIF", secret))))
	f.Fuzz(func(t *testing.T, format uint8, file []byte) {
		mime := formats[format%4]
		kept, frames, rotated, changed, err := media.StripMetadata(file, mime)
		if err != nil {
			if errs.Of(err) == nil || errs.Of(err).Reason != "bad_image" {
				t.Fatalf("error %v, want the reason bad_image", err)
			}
			return
		}
		if len(kept) > len(file)+4 || changed == bytes.Equal(kept, file) {
			t.Fatalf("%d of %d bytes are kept, changed %v", len(kept), len(file), changed)
		}
		again, frames2, rotated2, changed, err := media.StripMetadata(kept, mime)
		if err != nil || changed || !bytes.Equal(kept, again) || frames != frames2 || rotated != rotated2 {
			t.Fatalf("stripping the result: changed %v (%v)", changed, err)
		}
		config, name, err := image.DecodeConfig(bytes.NewReader(file))
		if err != nil || "image/"+name != mime || config.Width*config.Height > 1<<16 {
			return
		}
		was, _, err := image.Decode(bytes.NewReader(file))
		if err != nil {
			return
		}
		is, _, err := image.Decode(bytes.NewReader(kept))
		if err != nil || !same(was, is) {
			t.Fatalf("the result shows another image (%v)", err)
		}
	})
}
