// Package faulttest kills the real binary, over and over, at chosen places and at any time, while clients chat through it, and
// checks what they saw and what is on the disk. It has tests only.
package faulttest
