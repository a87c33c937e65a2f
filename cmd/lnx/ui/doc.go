// Package ui has what the commands show and read alike: tables, progress on a
// terminal, and sizes with a suffix.
package ui
