// Package source is what the clients of registries and of mirrors have in common where
// they hand out provider packages: the form of their errors and of what they stream,
// stated hashes, and versions that are not written in the canonical way.
package source
