#!/usr/bin/perl
# tar-to-fast-import.pl IDENT DATE MESSAGE < TAR: writes the tar archive as one commit in git fast-import's format.
# The first path component is dropped. Owner, mode beyond the x bit and time of each member are ignored, so that the
# same sources give the same commit id. Format: POSIX ustar with GNU long names ('L', 'K') and pax 'path', 'linkpath'.
use strict;
use warnings;

my ($ident, $date, $message) = @ARGV;
die "usage: tar-to-fast-import.pl IDENT DATE MESSAGE < TAR\n" unless defined $message;
binmode STDIN;
binmode STDOUT;

sub get {
	my ($size) = @_;
	my ($data, $have) = ('', 0);
	while ($have < $size) {
		my $n = read(STDIN, $data, $size - $have, $have);
		die "the tar archive ends too early\n" unless $n;
		$have += $n;
	}
	return $data;
}

# The whole commit is one stream: "M mode inline path" needs no marks and keeps no table of blobs.
print "feature done\ncommit refs/heads/main\ncommitter $ident $date\n";
print 'data ', length($message), "\n$message\n";

my ($long_name, $long_link, $files) = (undef, undef, 0);
while (1) {
	my $head = get(512);
	last if $head =~ /^\0*\z/;
	my ($name, $mode, undef, undef, $size, undef, undef, $type, $link, $magic, undef, undef, undef, undef, undef, $prefix) =
		unpack('Z100 A8 A8 A8 A12 A12 A8 A1 Z100 A6 A2 Z32 Z32 A8 A8 Z155', $head);
	die "this is not a tar archive\n" unless $magic =~ /^ustar/;
	$size =~ /^\s*([0-7]+)/ or die "\"$name\": a size of this form is not known\n";
	my $bytes = oct($1);
	my $data = $bytes ? get($bytes) : '';
	get(512 - $bytes % 512) if $bytes % 512;

	if ($type eq 'L') { ($long_name) = unpack('Z*', $data); next; }
	if ($type eq 'K') { ($long_link) = unpack('Z*', $data); next; }
	if ($type eq 'x') {
		while ($data =~ s/^(\d+) //) {
			my $record = substr($data, 0, $1 - length($1) - 1, '');
			$long_name = $1 if $record =~ /^path=(.*)\n\z/s;
			$long_link = $1 if $record =~ /^linkpath=(.*)\n\z/s;
		}
		next;
	}
	$name = defined $long_name ? $long_name : $prefix ne '' && $magic eq 'ustar' ? "$prefix/$name" : $name;
	$link = $long_link if defined $long_link;
	($long_name, $long_link) = (undef, undef);

	$name =~ s{^\./}{};
	next unless $name =~ s{^[^/]+/(?=.)}{};
	die "\"$name\": a name with a newline is not supported\n" if $name =~ /\n/;
	if ($type eq '0' || $type eq '') {
		my $git_mode = oct($mode =~ /([0-7]+)/ ? $1 : 0) & 0100 ? '100755' : '100644';
		print "M $git_mode inline $name\ndata $bytes\n", $data, "\n";
		$files++;
	} elsif ($type eq '2') {
		print "M 120000 inline $name\ndata ", length($link), "\n$link\n";
		$files++;
	} elsif ($type ne '5' && $type ne 'g') {
		die "\"$name\": a member of type \"$type\" is not supported\n";
	}
}
die "the tar archive holds no file\n" unless $files;
print "done\n";
