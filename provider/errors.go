package provider

import (
	"errors"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
)

// ErrNoPlatform, ErrNoFile (an archive, SHA256SUMS document or signature) and ErrExcluded also match
// [failure.ErrNotFound]: test for them first.
var (
	ErrNoPlatform = fault.Narrow("no package for this platform", failure.ErrNotFound)

	ErrNoFile = fault.Narrow("no such file", failure.ErrNotFound)

	ErrExcluded = fault.Narrow("excluded by the patterns of the source", failure.ErrNotFound)

	ErrProtocol = errors.New("no supported plugin protocol")

	ErrUnpacked = errors.New("package is unpacked and has no archive")
)
