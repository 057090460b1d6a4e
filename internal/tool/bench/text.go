package bench

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"unicode/utf8"
)

// fortunes is the directory of Debian's fortune packages.
const fortunes = "/usr/share/games/fortunes"

// sentences are built in, for machines without the fortune files.
var sentences = []string{
	"The ferry leaves at seven; bring the blue folder and something to eat on the way. ",
	"Can somebody look at the build? It is red again, and I am on a train without a socket. ",
	"我们明天下午三点在图书馆门口见面，别忘了带上次借的那本书。",
	"会議は来週の火曜日に変更になりました。資料は後で送ります。",
	"Прошу прислать договор до пятницы, иначе мы не успеем подписать. ",
	"هل يمكنك إرسال الصور من الرحلة؟ أمي تريد أن تراها الليلة. ",
	"오늘 저녁에 시간 있으면 같이 운동하러 갈래요? ",
	"Ça marche pour jeudi 👍🏽 — on se retrouve devant le cinéma à 20 h. ",
}

// headLength is the length of the header before the filler: sender, number and time, in hexadecimal.
const headLength = 8 + 8 + 16

// corpus is a list of fillers of about the same size.
type corpus [][]byte

// newCorpus cuts texts of some bytes from a file, from the fortune packages, or from the built-in sentences.
func newCorpus(file string, size int, seed uint64) (corpus, string, error) {
	source := "built-in sentences"
	var raw []byte
	if file != "" {
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, "", fmt.Errorf("--text: %w", err)
		}
		raw, source = bytes.ToValidUTF8(b, nil), file
	} else if names, err := filepath.Glob(filepath.Join(fortunes, "*.u8")); err == nil && len(names) > 0 {
		for _, n := range names {
			if b, err := os.ReadFile(n); err == nil && len(raw) < 8<<20 {
				raw = append(raw, bytes.ToValidUTF8(b, nil)...)
			}
		}
		source = "the fortune packages"
	}
	rng := rand.New(rand.NewPCG(seed, 1))
	if len(raw) < 4*size {
		for len(raw) < 256<<10 {
			raw = append(raw, sentences[rng.IntN(len(sentences))]...)
		}
	}
	raw = bytes.ReplaceAll(raw, []byte{0}, []byte{' '})
	want := max(size-headLength, 1)
	c := make(corpus, 0, 4096)
	for range cap(c) {
		at := rng.IntN(max(len(raw)-want-4, 1))
		c = append(c, cut(raw[at:], want))
	}
	return c, source, nil
}

// cut returns about n bytes that begin and end at character boundaries.
func cut(b []byte, n int) []byte {
	for len(b) > 0 && !utf8.RuneStart(b[0]) {
		b = b[1:]
	}
	end := min(n, len(b))
	for end > 0 && end < len(b) && !utf8.RuneStart(b[end]) {
		end--
	}
	return b[:end:end]
}

func (c corpus) of(sender, n uint32) []byte { return c[(uint64(sender)*7919+uint64(n))%uint64(len(c))] }

const hexDigits = "0123456789abcdef"

func appendHex(b []byte, v uint64, digits int) []byte {
	for i := digits - 1; i >= 0; i-- {
		b = append(b, hexDigits[v>>(4*i)&15])
	}
	return b
}

func parseHex(b []byte) (v uint64, ok bool) {
	for _, c := range b {
		switch {
		case c >= '0' && c <= '9':
			v = v<<4 | uint64(c-'0')
		case c >= 'a' && c <= 'f':
			v = v<<4 | uint64(c-'a'+10)
		default:
			return 0, false
		}
	}
	return v, true
}

// appendText appends the text of a sender's message n.
func (c corpus) appendText(b []byte, sender, n uint32, sentNs int64) []byte {
	b = appendHex(b, uint64(sender), 8)
	b = appendHex(b, uint64(n), 8)
	b = appendHex(b, uint64(sentNs), 16)
	return append(b, c.of(sender, n)...)
}

// parse parses a text; ok is false if it differs from the one that was sent.
func (c corpus) parse(b []byte) (sender, n uint32, sentNs int64, ok bool) {
	if len(b) < headLength {
		return 0, 0, 0, false
	}
	s, ok1 := parseHex(b[:8])
	m, ok2 := parseHex(b[8:16])
	t, ok3 := parseHex(b[16:32])
	if !ok1 || !ok2 || !ok3 || !bytes.Equal(b[headLength:], c.of(uint32(s), uint32(m))) {
		return 0, 0, 0, false
	}
	return uint32(s), uint32(m), int64(t), true
}
