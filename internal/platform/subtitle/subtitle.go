// Package subtitle converts subtitles that users upload into WebVTT that is safe for any player.
//
// A file is WebVTT or SRT, in UTF-8. The syntax is checked strictly: anything that is neither a cue nor a block of WebVTT is refused, with the number of its line. The
// result keeps the times of a cue, valid settings of WebVTT, the text, and in the text the tags b, i, u, c, v, lang, ruby, rt and times of WebVTT, or b, i and u of SRT.
// Everything else is dropped: styles, which may load files, regions, notes, and other tags. All other text is escaped, so the result has only markup that
// this package writes. Converting a result again does not change it, unless escapes have made something too long.
//
// The package stores nothing. All functions are safe for concurrent use.
package subtitle

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/base/errs"
)

// Limits of a file.
const (
	MaxBytes = 512 << 10
	maxCues  = 10_000
	maxLine  = 500 // characters
	maxLines = 10  // of a cue
	maxTime  = 24 * time.Hour
)

func bad(what string) error { return errs.New(errs.Invalid, "bad_subtitles", what) }

var (
	errSize = bad(fmt.Sprintf("subtitles have at most %d KiB", MaxBytes>>10))
	errText = bad("subtitles are text in UTF-8 without control characters; save the file in this encoding")
	errCues = bad(fmt.Sprintf("subtitles have 1 to %d texts", maxCues))
)

// cue is a text with its times.
type cue struct {
	begin, end time.Duration
	settings   []string
	text       string // with markup of WebVTT
}

// Convert returns a file as safe WebVTT, and how many cues it has.
func Convert(file string) (webvtt string, cues int, err error) {
	if len(file) > MaxBytes {
		return "", 0, errSize
	}
	file = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.TrimPrefix(file, "\ufeff"))
	if !utf8.ValidString(file) || strings.ContainsFunc(file, isControl) {
		return "", 0, errText
	}
	r := &reader{lines: strings.Split(file, "\n")}
	for i, line := range r.lines {
		if utf8.RuneCountInString(line) > maxLine {
			return "", 0, r.bad(i, fmt.Sprintf("a line has at most %d characters", maxLine))
		}
	}
	read := r.srt
	if first := r.lines[0]; first == signature || strings.HasPrefix(first, signature+" ") || strings.HasPrefix(first, signature+"\t") {
		read = r.webVTT
	}
	list, err := read()
	switch {
	case err != nil:
		return "", 0, err
	case len(list) == 0:
		return "", 0, errCues
	}
	slices.SortStableFunc(list, func(a, b cue) int { return int(a.begin - b.begin) })
	if webvtt = write(list); len(webvtt) > 2*MaxBytes { // escapes are longer than what they stand for
		return "", 0, errSize
	}
	return webvtt, len(list), nil
}

func isControl(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }

func write(list []cue) string {
	var b strings.Builder
	b.WriteString(signature + "\n")
	for _, c := range list {
		fmt.Fprintf(&b, "\n%s --> %s", Time(c.begin), Time(c.end))
		for _, s := range c.settings {
			b.WriteString(" " + s)
		}
		b.WriteString("\n" + c.text + "\n")
	}
	return b.String()
}

// Time returns a time as WebVTT has it.
func Time(d time.Duration) string {
	ms := d.Milliseconds()
	return fmt.Sprintf("%02d:%02d:%02d.%03d", ms/3_600_000, ms/60_000%60, ms/1000%60, ms%1000)
}

// reader of the lines of a file.
type reader struct {
	lines []string
	at    int // lines that were read
	cues  []cue
}

// bad is the error of a line, whose index counts from 0.
func (r *reader) bad(index int, what string) error {
	return bad(fmt.Sprintf("line %d: %s", index+1, what))
}

// block returns the lines up to the next blank one, and the index of the first one; none at the end of the file.
func (r *reader) block() (block []string, index int) {
	for r.at < len(r.lines) && r.lines[r.at] == "" {
		r.at++
	}
	index = r.at
	for r.at < len(r.lines) && r.lines[r.at] != "" {
		r.at++
	}
	return r.lines[index:r.at], index
}

// add adds a cue whose times are in a line, unless its text is empty.
func (r *reader) add(c cue, index int, lines []string, markup func(string) string) error {
	switch {
	case c.end <= c.begin:
		return r.bad(index, "a text ends after it begins")
	case c.end > maxTime:
		return r.bad(index, fmt.Sprintf("times are at most %d hours", int(maxTime.Hours())))
	case len(lines) > maxLines:
		return r.bad(index, fmt.Sprintf("a text has at most %d lines, and a blank line behind it", maxLines))
	}
	c.text = markup(strings.Join(lines, "\n"))
	if c.text == "" {
		return nil
	}
	if len(r.cues) == maxCues {
		return errCues
	}
	r.cues = append(r.cues, c)
	return nil
}
