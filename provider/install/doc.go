// Package install puts provider packages into plugin directories.
package install
