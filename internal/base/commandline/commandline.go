// Package commandline has what commands share: suggestions for mistyped names of commands, and checks of numbers in flags.
package commandline

import (
	"cmp"
	"flag"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
)

// Unknown says that a word is no command, and which one of some names it may be meant to be.
func Unknown(word string, names []string) string {
	text := fmt.Sprintf("unknown command %q", word)
	if near := Nearest(word, names); near != "" {
		text += fmt.Sprintf("; did you mean %q?", near)
	}
	return text
}

// maxWord bounds the words that are compared. No name is longer.
const maxWord = 40

// Nearest returns the first of the names that a word most likely means: it differs in a few letters, or one begins with the other. It is empty if there is none.
func Nearest(word string, names []string) string {
	word = strings.ToLower(word)
	if word == "" || len(word) > maxWord {
		return ""
	}
	near, least := "", math.MaxInt
	for _, name := range names {
		d := distance(word, name)
		if d > (max(len(word), len(name))+1)/3 {
			if len(word) < 2 || !strings.HasPrefix(name, word) && !strings.HasPrefix(word, name) {
				continue
			}
		}
		if d < least {
			near, least = name, d
		}
	}
	return near
}

// distance is how many letters must be added, removed, replaced or exchanged with the next one to make one word of another.
func distance(a, b string) int {
	var before []int
	last := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			other := 1
			if a[i-1] == b[j-1] {
				other = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+other)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}

// DefaultData is the data directory that a command uses without --data: that of the environment, as serve does, or ./data.
func DefaultData() string { return cmp.Or(os.Getenv("RIALTO_DATA"), "data") }

// Int is the flag of a number from least to most, which may be equal to the largest number for no bound. A value that is not set is not checked, so that 0 may stand for a default.
func Int(fs *flag.FlagSet, to *int, name string, value, least, most int, usage string) {
	*to = value
	fs.Var(&number{to, least, most}, name, usage)
}

// number is a flag.Value.
type number struct {
	to          *int
	least, most int
}

func (n *number) String() string {
	if n.to == nil { // package flag asks a zero value what it is, and does not print that as a default
		return "0"
	}
	return strconv.Itoa(*n.to)
}

// Set checks a value.
func (n *number) Set(text string) error {
	v, err := strconv.Atoi(strings.ReplaceAll(text, ",", ""))
	switch {
	case err != nil:
		return fmt.Errorf("give a number%s", n.bounds())
	case v < n.least, v > n.most:
		return fmt.Errorf("the number must be%s", n.bounds())
	}
	*n.to = v
	return nil
}

func (n *number) bounds() string {
	if n.most == math.MaxInt {
		return " at least " + strconv.Itoa(n.least)
	}
	return fmt.Sprintf(" from %d to %d", n.least, n.most)
}
