"""Monophone to speaker-adapted GMM training, trees and forced alignment."""
