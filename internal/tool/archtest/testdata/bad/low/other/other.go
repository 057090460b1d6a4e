// Package other has a name that another package has.
package other
