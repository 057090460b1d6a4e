package subtitle

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// signature is how a WebVTT file begins.
const signature = "WEBVTT"

const (
	arrow    = "-->"
	vttTime  = `(?:(\d{2,4}):)?([0-5]\d):([0-5]\d)\.(\d{3})`
	srtTime  = `(\d{1,3}):([0-5]\d):([0-5]\d)[,.](\d{1,3})`
	percents = `(?:100(?:\.0{1,6})?|\d{1,2}(?:\.\d{1,6})?)%`
)

var (
	vttTimes = regexp.MustCompile(`^[ \t]*` + vttTime + `[ \t]+-->[ \t]+` + vttTime + `((?:[ \t].*)?)$`)
	// Some programs add coordinates of the picture, which nothing else knows.
	srtTimes  = regexp.MustCompile(`^` + srtTime + `[ \t]*-->[ \t]*` + srtTime + `(?:[ \t]+[XY][12]:\d{1,5})*$`)
	srtNumber = regexp.MustCompile(`^\d{1,9}$`)
	// setting is one that WebVTT knows, but for region: regions are left out.
	setting = regexp.MustCompile(`^(?:vertical:(?:rl|lr)|line:(?:-?\d{1,4}|` + percents + `)(?:,(?:start|center|end))?|position:` + percents + `(?:,(?:line-left|center|line-right))?|size:` + percents +
		`|align:(?:start|center|end|left|right))$`)
)

// timeOf returns the time of hours, minutes, seconds and a fraction, which regular expressions have found.
func timeOf(parts []string) (time.Duration, error) {
	var d time.Duration
	for i, unit := range []time.Duration{time.Hour, time.Minute, time.Second} {
		if parts[i] == "" {
			continue // no hours
		}
		n, err := strconv.Atoi(parts[i])
		if err != nil {
			return 0, err
		}
		d += time.Duration(n) * unit
	}
	n, err := strconv.Atoi((parts[3] + "00")[:3])
	return d + time.Duration(n)*time.Millisecond, err
}

// timesOf returns the times of a line that an expression has found.
func timesOf(found []string) (c cue, err error) {
	if c.begin, err = timeOf(found[1:5]); err == nil {
		c.end, err = timeOf(found[5:9])
	}
	return c, err
}

// webVTT reads a WebVTT file.
func (r *reader) webVTT() ([]cue, error) {
	head, _ := r.block()
	for i, line := range head {
		if strings.Contains(line, arrow) {
			return nil, r.bad(i, "there is a blank line between "+signature+" and the first text")
		}
	}
	for {
		block, index := r.block()
		if len(block) == 0 {
			return r.cues, nil
		}
		if isOther(block[0]) {
			continue
		}
		if !strings.Contains(block[0], arrow) { // the name of the cue
			block, index = block[1:], index+1
		}
		var found []string
		if len(block) > 0 {
			found = vttTimes.FindStringSubmatch(block[0])
		}
		if found == nil {
			return nil, r.bad(index, "a text begins with its times, such as 00:00:01.000 --> 00:00:04.000")
		}
		c, err := timesOf(found)
		if err != nil {
			return nil, err
		}
		c.settings = settingsOf(found[9])
		if err := r.add(c, index, block[1:], vttMarkup); err != nil {
			return nil, err
		}
	}
}

// isOther reports whether a line begins a block that is no cue.
func isOther(line string) bool {
	name, _, _ := strings.Cut(strings.ReplaceAll(line, "\t", " "), " ")
	return !strings.Contains(line, arrow) && (name == "NOTE" || strings.TrimSpace(line) == "STYLE" || strings.TrimSpace(line) == "REGION")
}

// settingsOf returns the settings with valid values, the first of each name.
func settingsOf(text string) (list []string) {
	seen := map[string]bool{}
	for _, s := range strings.Fields(text) {
		if name, _, _ := strings.Cut(s, ":"); setting.MatchString(s) && !seen[name] {
			seen[name] = true
			list = append(list, s)
		}
	}
	return list
}

// srt reads an SRT file.
func (r *reader) srt() ([]cue, error) {
	for i, line := range r.lines {
		r.lines[i] = strings.TrimSpace(line)
	}
	for {
		block, index := r.block()
		if len(block) == 0 {
			return r.cues, nil
		}
		if len(block) > 1 && srtNumber.MatchString(block[0]) {
			block, index = block[1:], index+1
		}
		found := srtTimes.FindStringSubmatch(block[0])
		if found == nil {
			return nil, r.bad(index, "subtitles are WebVTT or SRT: a text begins with its number and its times, such as 00:00:01,000 --> 00:00:04,000")
		}
		c, err := timesOf(found)
		if err != nil {
			return nil, err
		}
		if err := r.add(c, index, block[1:], srtMarkup); err != nil {
			return nil, err
		}
	}
}
