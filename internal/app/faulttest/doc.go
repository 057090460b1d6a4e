// Package faulttest repeatedly kills the real binary, at failpoints and at random moments, while clients chat through it, and checks what
// they received and what is on disk. It has tests only.
package faulttest
