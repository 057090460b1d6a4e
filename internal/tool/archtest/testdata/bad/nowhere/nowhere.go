// Package nowhere is in no layer.
package nowhere
