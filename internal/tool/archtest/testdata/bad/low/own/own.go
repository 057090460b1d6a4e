// Package own imports up and sideways.
package own

import (
	"example.org/bad/high/never"
	"example.org/bad/low/beside"
)

var count int

var table = map[string]int{"a": 1}

func init() { table["b"] = 2 }

// Add changes a package variable.
func Add() {
	table["c"]++
	table := map[string]int{}
	table["own"] = beside.N + never.N
}

// Own has a variable of its own under the same name.
func Own(table map[string]int) { table["own"] = 1 }

// TODO: finish, see /tmp/notes.
func Put() { table["d"] = count }

// Fine is a line too many.
func Fine() {
	_ = 1
	_ = 2
	_ = 3
	_ = 4
	_ = 5
	_ = 6
	_ = 7
	_ = 8
}
