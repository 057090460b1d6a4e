// Command hanvariants makes internal/base/wordfilter/simplified.txt from Unihan_Variants.txt of the Unicode Character Database:
//
//	go run ./hanvariants <Unihan_Variants.txt >../internal/base/wordfilter/simplified.txt
//
// Of each line the first character is a traditional one, and the second its simplified form. Of several forms it takes the first that is another character. Both are in the blocks that the word
// filter does not decompose, U+3400 to U+9FFF. A form that has a simplified form itself is replaced by that.
package main

import (
	"bufio"
	"fmt"
	"log"
	"maps"
	"os"
	"slices"
	"strings"
)

func main() {
	forms := map[rune]rune{}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		fields := strings.Fields(in.Text())
		if len(fields) < 3 || fields[1] != "kSimplifiedVariant" {
			continue
		}
		from := parse(fields[0])
		for _, field := range fields[2:] {
			if to := parse(field); to != from && isCommon(from) && isCommon(to) {
				forms[from] = to
				break
			}
		}
	}
	if err := in.Err(); err != nil {
		log.Fatal(err)
	}
	for _, from := range slices.Sorted(maps.Keys(forms)) {
		to := forms[from]
		for next, ok := forms[to]; ok && next != from; next, ok = forms[to] {
			to = next
		}
		if forms[to] != 0 && from < to {
			continue // each is the form of the other: the higher one is replaced
		}
		fmt.Printf("%c%c\n", from, to)
	}
}

func parse(field string) (r rune) {
	if _, err := fmt.Sscanf(field, "U+%X", &r); err != nil {
		log.Fatalf("%q is not a character: %v", field, err)
	}
	return r
}

func isCommon(r rune) bool { return r >= 0x3400 && r <= 0x9fff }
