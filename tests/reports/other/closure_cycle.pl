# SPDX-License-Identifier: GPL-2.0-or-later
# Report: mojolicious/mojo#2321. The usual leak of Perl: a closure that refers to its object. `fixed`: weaken().
#
# kind: objects of interpreters without a reader
# leak perl-cycle: leak
#   part: native-blocks
#   code: Perl_sv_|Perl_newSV|Perl_repeatcpy|Perl_pp_repeat
#   near: Perl_|perl
# healthy perl-weakened: fixed
use strict;
use warnings;
use Scalar::Util 'weaken';
use Time::HiRes 'usleep';

package Session;

sub new {
	my ($class, $fixed) = @_;
	my $self = bless { data => "x" x 3000 }, $class;
	my $seen = $self;
	Scalar::Util::weaken($seen) if $fixed;
	$self->{on_close} = sub { $seen->{closed} = 1 };
	return $self;
}

package main;

while (1) {
	my $session = Session->new(@ARGV && $ARGV[0] eq 'fixed');
	usleep(10000);
}
