package terminal

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"strings"

	rialto "github.com/rialto-im/rialto/sdk/go"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

const (
	// maxWaveform is how many levels a voice message shows.
	maxWaveform = 64
	// maxMeasured is how many bytes of a recording are read for its length and waveform; by default the server takes no larger file.
	maxMeasured = 100 << 20
)

// voiceContent is an audio file as a voice message, with length and waveform if it is a WAV file of 16 bits.
func (s *screen) voiceContent(ctx context.Context, rest string) (*chatv1.Content, error) {
	path, caption := pathAnd(rest)
	if path == "" {
		return nil, errNoPath
	}
	u, err := s.upload(ctx, path)
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(u.MimeType, "audio/") {
		return nil, errorf("%s is not a recording; send it with /file", plain(filepath.Base(path)))
	}
	m := rialto.MediaOf(u)
	m.Caption = caption
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	m.DurationMs, m.Waveform = measureWAV(io.LimitReader(f, maxMeasured))
	if err := f.Close(); err != nil {
		return nil, err
	}
	return &chatv1.Content{Kind: &chatv1.Content_Voice{Voice: m}}, nil
}

// measureWAV returns the length of a WAV file with samples of 16 bits, and the loudest sample of each of up to 64 equal parts, 0 to 255. It returns nothing for others.
func measureWAV(r io.Reader) (durationMs uint32, waveform []byte) {
	b, err := io.ReadAll(r)
	if err != nil || len(b) < 12 || string(b[:4]) != "RIFF" || string(b[8:12]) != "WAVE" {
		return 0, nil
	}
	var bytesPerSecond uint32
	for b = b[12:]; len(b) >= 8; {
		size := int(binary.LittleEndian.Uint32(b[4:]))
		chunk := b[8:min(8+size, len(b))]
		switch name := b[:4]; {
		case bytes.Equal(name, []byte("fmt ")):
			if len(chunk) < 16 || binary.LittleEndian.Uint16(chunk) != 1 || binary.LittleEndian.Uint16(chunk[14:]) != 16 {
				return 0, nil
			}
			bytesPerSecond = binary.LittleEndian.Uint32(chunk[8:])
		case bytes.Equal(name, []byte("data")):
			if bytesPerSecond == 0 {
				return 0, nil
			}
			return uint32(uint64(len(chunk)) * 1000 / uint64(bytesPerSecond)), levels(chunk)
		}
		b = b[min(8+size+size%2, len(b)):]
	}
	return 0, nil
}

// levels returns the loudest of each part of samples of 16 bits.
func levels(samples []byte) []byte {
	n := len(samples) / 2
	loudest := make([]byte, min(n, maxWaveform))
	for i := range n {
		level := int(int16(binary.LittleEndian.Uint16(samples[2*i:])))
		part := i * len(loudest) / n
		loudest[part] = max(loudest[part], byte(min(max(level, -level)/128, 255)))
	}
	return loudest
}
