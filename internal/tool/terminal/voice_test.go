package terminal

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"
)

// wav is a WAV file with one channel, 8,000 samples a second, and a chunk before its data.
func wav(format, bits uint16, samples ...int16) []byte {
	var b bytes.Buffer
	for _, part := range []any{[]byte("RIFF"), uint32(0), []byte("WAVEfmt "), uint32(16), format, uint16(1), uint32(8000), uint32(16000), uint16(2), bits, []byte("LIST"), uint32(3), []byte("abc\x00data"), uint32(2 * len(samples)), samples} {
		_ = binary.Write(&b, binary.LittleEndian, part) // into memory: it cannot fail
	}
	return b.Bytes()
}

// The length and the loudest samples of a recording are read from a WAV file of 16 bits. Of others nothing is known, however damaged they are.
func TestRecordingsAreMeasured(t *testing.T) {
	samples := make([]int16, 16000)
	for i := range samples {
		samples[i] = int16(i - 8000)
	}
	ms, waveform := measureWAV(bytes.NewReader(wav(1, 16, samples...)))
	if ms != 2000 || len(waveform) != maxWaveform || waveform[0] != 62 || waveform[31] != 1 || waveform[63] != 62 {
		t.Errorf("got %d ms, %v", ms, waveform)
	}
	if ms, waveform := measureWAV(bytes.NewReader(wav(1, 16, -32768, 32767, 0))); ms != 0 || !slices.Equal(waveform, []byte{255, 255, 0}) {
		t.Errorf("three samples: got %d ms, %v", ms, waveform)
	}
	whole := wav(1, 16, samples[:8]...)
	for n := range len(whole) {
		measureWAV(bytes.NewReader(whole[:n])) // does not panic
	}
	for name, data := range map[string][]byte{"compressed": wav(85, 16, 1, 2), "of 8 bits": wav(1, 8, 1, 2), "another file": []byte("OggS" + strings.Repeat("x", 99)), "empty": nil} {
		if ms, waveform := measureWAV(bytes.NewReader(data)); ms != 0 || waveform != nil {
			t.Errorf("%s: got %d ms, %v", name, ms, waveform)
		}
	}
}
